//go:build linux

package wave

import (
	"runtime"
	"testing"

	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestBenchVerifiesBothForms(t *testing.T) {
	f := newFixture(t)
	o := BenchOptions{Options: Options{Width: 48, Height: 40, TilesX: 4, TilesY: 4, Local: 32}, Repeat: 3}
	told := 0
	o.Progress = func(done, of int) {
		if told++; done != told || of != 3*(2+4*3) {
			t.Errorf("%d of %d", done, of)
		}
	}
	rows, err := Bench(t.Context(), f.Executor, f.Cache, o)
	if err != nil || told != 3*(2+4*3) {
		t.Fatal(told, err)
	}
	if len(rows) != 8 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if !r.Verified || r.Micros <= 0 || r.Repeat != 3 {
			t.Errorf("%+v", r)
		}
	}
	_, err = Bench(t.Context(), f.Executor, f.Cache, BenchOptions{})
	residenttest.WantError(t, err, "repeated 0 times")
}

// A wrong cell, and a wrong answer, must not pass for verified.
func TestBenchFindsWhatIsWrong(t *testing.T) {
	f := newFixture(t)
	o := BenchOptions{Options: Options{Width: 16, Height: 16, TilesX: 2, TilesY: 2}, Repeat: 1}
	foreseen, err := foresee(t.Context(), o, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range benchForms {
		b, err := newBench(t.Context(), f.Executor, f.Cache, o.Options, form)
		if err != nil {
			t.Fatal(err)
		}
		verified := func(i int) bool {
			row, err := b.row(foreseen[i], func() {})
			if err != nil {
				t.Fatal(err)
			}
			return row.Verified
		}
		if !verified(0) || !verified(1) {
			t.Errorf("%s: right cells are not verified", form)
		}
		foreseen[2].heights[0]++
		if verified(2) {
			t.Errorf("%s: a wrong answer is verified", form)
		}
		foreseen[2].heights[0]--
		wrong := []float32{0.1}
		now := b.sim.now
		b.state[now][5] = wrong[0] // what the traditional form brings up
		if err := b.sim.memory.fields[now].Upload(t.Context(), 5, wrong); err != nil {
			t.Fatal(err)
		}
		if verified(3) {
			t.Errorf("%s: a wrong cell is verified", form)
		}
		b.sim.Close()
	}
}

// The reference on all cores has the bits of the reference on one.
func TestReferenceInBands(t *testing.T) {
	for _, border := range []Border{Reflecting, Absorbing} {
		o := Options{Width: 251, Height: 4*bandCells/251 + 5, TilesX: 1, TilesY: 9, Border: border}
		whole, err := NewReference(o)
		if err != nil {
			t.Fatal(err)
		}
		bands, err := NewReference(o)
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.GOMAXPROCS(0)
		for _, r := range []*Reference{whole, bands} {
			runtime.GOMAXPROCS(1)
			if r == bands {
				runtime.GOMAXPROCS(4)
			}
			r.poke(Poke{125, 130, 1})
			r.poke(Poke{0, 65, -0.3})
			r.Step(60)
		}
		runtime.GOMAXPROCS(before)
		if err := bands.Compare(whole.Field()); err != nil {
			t.Errorf("%v: %v", border, err)
		}
		if whole.Energy() == 0 {
			t.Errorf("%v: nothing moves", border)
		}
	}
}

// BenchmarkStep is one step of a grid of 512x512 in 16x16 tiles.
func BenchmarkStep(b *testing.B) {
	f := newFixture(b)
	s, _ := f.pair(Options{Width: 512, Height: 512, TilesX: 16, TilesY: 16})
	b.SetBytes(int64(3 * 4 * s.options.cells()))
	b.ResetTimer()
	if err := s.Step(b.Context(), b.N); err != nil {
		b.Fatal(err)
	}
}
