//go:build linux

package executor

import (
	"encoding/binary"
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

// A small job that is alone in its batch uses mapped memory, and leaves that of the device as
// it was; a larger one, and a chain, whose second dispatch would read through the bus, do not.
func TestSmallJobsUseMappedMemory(t *testing.T) {
	const words = mostInPlace / 4
	f := newFixture(t, Options{Depth: 1, SlotBytes: 1 << 16, test: testOptions{poison: true, inPlace: true}})
	h := f.affine()
	for name, test := range map[string]struct {
		words int
		chain bool
		want  bool
	}{
		"small":  {words, false, true},
		"larger": {words + 1, false, false},
		"chain":  {words, true, false},
	} {
		k := newTask(h, 3, test.words)
		if test.chain {
			k.job.Then = []Dispatch{k.job.Dispatch}
		}
		k.pending = f.submit(k.job)
		f.finish(k)
		var first [4]byte
		err := f.context.Do(func(gl *glctx.GL) error {
			gl.MemoryBarrier(glctx.BarrierAllKinds)
			gl.Download(f.slots[0].outputs, 0, first[:])
			return gl.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.NativeEndian.Uint32(first[:]) == poisonWord; got != test.want {
			t.Errorf("%s: used in place: %v", name, got)
		}
	}
}
