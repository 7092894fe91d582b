//go:build linux

package wave3d

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

func TestKernelsCompileAlone(t *testing.T) {
	t.Parallel()
	residenttest.CompileAlone(t, os.DirFS("../../.."), "lab/demo/wave3d/kernels/*.comp", 2)
}

// A volume over one to four contexts, divided along one axis or two, agrees with the CPU
// in every bit.
func TestEveryDivisionAgrees(t *testing.T) {
	ctx := context.Background()
	gltest.Open(t)
	g, err := devices.Open(devices.Options{Device: shadercache.Options{
		Devices: gltest.Devices(4), NoTrials: true, Context: glctx.Options{DriverCacheOff: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, o := range []Options{
		{Cells: [3]int{14, 9, 2*innerPlanes + 1}, Members: 1, Seed: 1},
		{Cells: [3]int{14, 9, 11}, Members: 2, Seed: 2},
		{Cells: [3]int{11, 9, 14}, Members: 3, Seed: 3},
		{Cells: [3]int{3, 13, 14}, Members: 4, Seed: 4}, // along y and z
		{Cells: [3]int{16, 13, 3}, Members: 4, Seed: 5}, // along x and y
		{Cells: [3]int{5, 1, 2}, Members: 2, Seed: 6},   // blocks without an interior
	} {
		t.Run(fmt.Sprint(o.Members, o.Cells), func(t *testing.T) { checkSim(t, ctx, g, o) })
	}
}

func checkSim(t *testing.T, ctx context.Context, g *devices.Group, o Options) {
	s, err := New(ctx, g, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Mesh().Len(); n != o.Members {
		t.Errorf("%d blocks, want %d", n, o.Members)
	}
	r, err := NewReference(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 6} {
		r.Step(n)
		if err := s.Step(ctx, n); err != nil {
			t.Fatal(err)
		}
		field, err := s.Field(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range r.Field() {
			if field[i] != want {
				t.Fatalf("mesh %v, step %d: cell %d is %v, want %v", s.Mesh().Sides, s.Steps(), i, field[i], want)
			}
		}
	}
}

// Options that make no sense are errors.
func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{}, {Cells: [3]int{1, 1, 5000}}, {Cells: [3]int{4, 4, 4}, Courant: 0.6}, {Cells: [3]int{4, 4, 4}, Members: -1}, {Cells: [3]int{4096, 4096, 4096}}} {
		if _, err := NewReference(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
