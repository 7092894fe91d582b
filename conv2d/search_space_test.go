//go:build linux

package conv2d

import (
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// TestSearchStartsWithTheShippedChoice has the choice of the shipped table first, and once,
// whether it is a candidate too or not; and none for a driver of no model.
func TestSearchStartsWithTheShippedChoice(t *testing.T) {
	info := glctx.Info{
		GPU: "NVIDIA H200/PCIe/SSE2", MaxSharedBytes: hardware.sharedBytes, MaxInvocations: int32(hardware.maxInvocations),
		Limits: job.Limits{MaxGroups: hardware.maxGroups, MaxStorage: 1 << 31},
	}
	for _, name := range []string{"conv2d:32x256x56x56-64,1x1", "gemm:8192x8192x8192", "gemm:512x512x512,relu"} {
		shape, err := ParseShape(name)
		if err != nil {
			t.Fatal(err)
		}
		space, err := NewSearchSpace(shape, info, Restriction{})
		if err != nil {
			t.Fatal(err)
		}
		want, ok := shipped(space.task, deviceOf(info))
		if list := space.Choices(); !ok || list[0] != want || len(list) < len(space.task.choices()) {
			t.Errorf("%s: %d choices, first %v, want %v", name, len(list), list[0], want)
		} else {
			for _, c := range list[1:] {
				if c == want {
					t.Errorf("%s: %v is there twice", name, c)
				}
			}
		}
		other := info
		other.GPU = "Another"
		space, err = NewSearchSpace(shape, other, Restriction{})
		if err != nil || space.Choices()[0] != space.task.choices()[0] {
			t.Errorf("%s on a driver of no model: first %v, %v", name, space.Choices()[0], err)
		}
	}
}
