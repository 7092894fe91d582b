//go:build linux

package wave

import (
	"context"
	"errors"
	"image"
	"math"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/resident/residenttest"
)

// Grids that the tiles divide evenly or not, down to one cell a tile.
func TestEveryCellMatchesTheCPU(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, o := range []Options{
		{Width: 64, Height: 48, TilesX: 4, TilesY: 3},
		{Width: 64, Height: 48, TilesX: 1, TilesY: 1, Local: 64},
		{Width: 61, Height: 37, TilesX: 5, TilesY: 7, Local: 32},
		{Width: 9, Height: 10, TilesX: 4, TilesY: 10, Local: 1}, // the last column of tiles has no cell
		{Width: 7, Height: 5, TilesX: 7, TilesY: 5, Local: 2},
		{Width: 80, Height: 64, TilesX: 5, TilesY: 4, Border: Absorbing, Sponge: 12, Courant: 0.7},
		{Width: 33, Height: 80, TilesX: 2, TilesY: 4, Border: Absorbing, Courant: 0.3},
	} {
		s, r := f.pair(o)
		pokes := []Impulse{
			{o.Width / 3, o.Height / 2, 1},
			{0, 0, -0.7},
			{o.Width - 1, o.Height - 1, 2.5},
			{o.Width / s.options.TilesX % o.Width, o.Height / 2, 0.25}, // on a border between tiles
			{o.Width / 3, o.Height / 2, 1.0 / 3},
		}
		for round := range 3 {
			acks := f.poke(s, pokes...)
			for i, a := range acks {
				if a.Impulse != pokes[i] || a.Step != uint32(round*40) {
					t.Errorf("ack %d is %+v", i, a)
				}
			}
			if err := r.Excite(pokes...); err != nil {
				t.Fatal(err)
			}
			f.step(s, 40)
			r.Step(40)
			f.compare(s, r)
		}
		s.Close()
	}
}

// TestManyImpulsesOnManyCells applies 64 impulses to a tile whose one invocation has 4,096
// cells: together they pass the loops that llvmpipe allows.
func TestManyImpulsesOnManyCells(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, r := f.pair(Options{Width: 64, Height: 64, TilesX: 1, TilesY: 1, Local: 1})
	var pokes []Impulse
	for i := range 64 {
		pokes = append(pokes, Impulse{i, 63 - i, float32(1+i) / 64})
	}
	f.poke(s, pokes...)
	if err := r.Excite(pokes...); err != nil {
		t.Fatal(err)
	}
	f.compare(s, r)
	f.step(s, 3)
	r.Step(3)
	f.compare(s, r)
}

func TestTilesReport(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o := Options{Width: 96, Height: 64, TilesX: 6, TilesY: 4}
	s, r := f.pair(o)
	pokes := []Impulse{{10, 10, 1}, {50, 40, -2}, {15, 15, 1}}
	f.poke(s, pokes...)
	if err := r.Excite(pokes...); err != nil {
		t.Fatal(err)
	}
	f.step(s, 100)
	r.Step(100)
	reports, err := s.Tiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	poked := map[int]uint32{0: 2, 2*6 + 3: 1}
	for i, report := range reports {
		x, y := i%6, i/6
		largest := float32(0)
		block, err := s.Tile(t.Context(), x, y)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range block {
			if want := r.Field()[(16*y+k/16)*96+16*x+k%16]; v != want {
				t.Fatalf("tile %d,%d cell %d is %v, not %v", x, y, k, v, want)
			}
			largest = max(largest, float32(math.Abs(float64(v))))
		}
		if report.Steps != 100 || report.Impulses != poked[i] || report.Largest != largest {
			t.Errorf("tile %d reports %+v, largest is %v", i, report, largest)
		}
	}
	energy, err := s.Energy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := r.Energy(); math.Abs(energy-want) > 1e-4*want {
		t.Errorf("energy %v, not %v", energy, want)
	}
	cells := []image.Point{{0, 0}, {95, 63}, {16, 16}, {15, 47}, {33, 20}}
	heights, err := s.Heights(t.Context(), cells...)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cells {
		if want := r.Field()[c.Y*96+c.X]; heights[i] != want {
			t.Errorf("height at %v is %v, not %v", c, heights[i], want)
		}
	}
}

// An impulse over the corner of four tiles changes their faces of this step and of the
// step before, which the energy depends on before any further step.
func TestEnergyRightAfterAnImpulse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, r := f.pair(Options{Width: 64, Height: 48, TilesX: 4, TilesY: 3})
	for _, p := range []Impulse{{16, 16, 1}, {31, 32, -0.5}, {47, 15, 2}} {
		f.poke(s, p)
		if err := r.Excite(p); err != nil {
			t.Fatal(err)
		}
		energy, err := s.Energy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := r.Energy(); math.Abs(energy-want) > 1e-5*want {
			t.Errorf("after the impulse %+v the energy is %v, not %v", p, energy, want)
		}
		f.step(s, 3)
		r.Step(3)
	}
	f.compare(s, r)
}

func TestEnergyIsConservedOrAbsorbed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, border := range []Border{Reflecting, Absorbing} {
		s, _ := f.pair(Options{Width: 96, Height: 96, TilesX: 3, TilesY: 3, Border: border, Sponge: 24})
		f.poke(s, Impulse{48, 48, 1})
		start, err := s.Energy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f.step(s, 600)
		end, err := s.Energy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: energy %v, then %v", border, start, end)
		switch {
		case start < 0.1:
			t.Errorf("%v: an impulse of height 1 has energy %v", border, start)
		case border == Reflecting && math.Abs(end-start) > 1e-4*start:
			t.Errorf("energy went from %v to %v", start, end)
		case border == Absorbing && math.Abs(end) > 1e-3*start:
			t.Errorf("after 600 steps %v of %v remains", end, start)
		}
	}
}

// Goroutines excite and inspect the simulation while one steps it. The reference applies
// the impulses at the steps in their acks, and must have the same field.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const steps = 400
	s, r := f.pair(Options{Width: 64, Height: 64, TilesX: 4, TilesY: 4, Local: 64})
	var all []Ack
	var mu sync.Mutex
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 8 {
				acks, err := s.Excite(t.Context(), Impulse{(g*17 + i*5) % 64, (g*29 + i*11) % 64, float32(g+1) / 4})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, acks...)
				mu.Unlock()
				if _, err := s.Energy(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	f.step(s, steps)
	group.Wait()
	field, step, err := s.Field(t.Context())
	if err != nil || step != steps {
		t.Fatalf("step %d, %v", step, err)
	}
	if len(all) != 32 {
		t.Fatalf("%d acks", len(all))
	}
	apart := map[uint32]bool{}
	for now := range uint32(steps + 1) {
		for _, a := range all {
			if a.Step == now {
				apart[now] = true
				if err := r.Excite(a.Impulse); err != nil {
					t.Fatal(err)
				}
			}
		}
		if now < steps {
			r.Step(1)
		}
	}
	t.Logf("the impulses were applied at %d different steps", len(apart))
	// Overlapping impulses of one step may be applied in either order, which changes
	// the last bits of their sums.
	for i, v := range field {
		if want := r.Field()[i]; math.Abs(float64(v-want)) > 1e-4 {
			t.Fatalf("cell %d is %v, not %v", i, v, want)
		}
	}
}

func TestStepIsOneDispatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, _ := f.pair(Options{Width: 16, Height: 16, TilesX: 2, TilesY: 2})
	before := f.GPU.Counters()
	f.step(s, 100)
	after := f.GPU.Counters()
	if n := after.Dispatches - before.Dispatches; n != 100 {
		t.Errorf("%d dispatches for 100 steps", n)
	}
	if after.Readbacks != before.Readbacks || after.Finishes != before.Finishes {
		t.Errorf("stepping read back or finished: %+v, then %+v", before, after)
	}
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for text, o := range map[string]Options{
		"20x8 tiles for 10x10 cells":  {Width: 10, Height: 10, TilesX: 20},
		"-1x256 cells":                {Width: -1},
		"not a power of 2":            {Local: 3},
		"not stable":                  {Courant: 0.71},
		"use more tiles":              {Width: 128, Height: 128, TilesX: 1, TilesY: 1, Local: 1},
		"a damping layer of -1 cells": {Sponge: -1},
	} {
		_, err := New(t.Context(), f.Executor, f.Cache, o)
		residenttest.WantError(t, err, text)
	}
	s, r := f.pair(Options{Width: 16, Height: 16, TilesX: 2, TilesY: 2})
	for text, p := range map[string]Impulse{
		"impulse at 16,0 is outside of 16x16 cells": {16, 0, 1},
		"impulse of height NaN":                     {1, 1, float32(math.NaN())},
		"impulse of height 1e+07":                   {1, 1, 1e7},
	} {
		_, err := s.Excite(t.Context(), Impulse{1, 1, 1}, p)
		residenttest.WantError(t, err, text)
		residenttest.WantError(t, r.Excite(p), text)
	}
	f.compare(s, r) // none was applied
	_, err := s.Heights(t.Context(), image.Pt(3, 16))
	residenttest.WantError(t, err, "outside of 16x16")
	_, err = s.Tile(t.Context(), 2, 0)
	residenttest.WantError(t, err, "no tile 2,0 in 2x2 tiles")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Step(ctx, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	s.Close()
	if err := s.Step(t.Context(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("error is %v", err)
	}
}

func TestCompareFindsADifference(t *testing.T) {
	t.Parallel()
	r, err := NewReference(Options{Width: 4, Height: 4, TilesX: 1, TilesY: 1})
	if err != nil {
		t.Fatal(err)
	}
	field := make([]float32, 16)
	field[6] = float32(math.NaN())
	if err := r.Compare(field); !errors.Is(err, ErrDiffers) {
		t.Errorf("error is %v", err)
	}
	residenttest.WantError(t, r.Compare(field), "1 of 16 cells after step 0; the first is 2,1")
	residenttest.WantError(t, r.Compare(field[:3]), "3 cells, not 16")
}

// Options has the sizes of a simulation that was made with defaults, and makes its
// reference.
func TestOptionsHaveDefaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, err := New(t.Context(), f.Executor, f.Cache, Options{Border: Absorbing, TilesX: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o := s.Options()
	if want := (Options{Width: 256, Height: 256, TilesX: 4, TilesY: 8, Courant: 0.5, Border: Absorbing, Sponge: 32, Local: 256}); o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
	r, err := NewReference(o)
	if err != nil {
		t.Fatal(err)
	}
	p := Impulse{o.Width / 2, o.Height / 3, 1}
	f.poke(s, p)
	if err := r.Excite(p); err != nil {
		t.Fatal(err)
	}
	f.step(s, 8)
	r.Step(8)
	f.compare(s, r)
}
