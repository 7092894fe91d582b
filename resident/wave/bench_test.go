//go:build linux

package wave

import (
	"testing"
)

func TestBenchVerifiesBothForms(t *testing.T) {
	f := newFixture(t)
	rows, err := Bench(t.Context(), f.Executor, f.cache, Options{Width: 48, Height: 40, TilesX: 4, TilesY: 4, Local: 32}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 8 {
		t.Errorf("%d rows", len(rows))
	}
	for _, r := range rows {
		if !r.Verified || r.Micros <= 0 || r.Repeat != 3 {
			t.Errorf("%+v", r)
		}
	}
	_, err = Bench(t.Context(), f.Executor, f.cache, Options{}, 0)
	wantError(t, err, "repeated 0 times")
}

// A wrong cell must not pass for verified.
func TestBenchFindsAWrongCell(t *testing.T) {
	f := newFixture(t)
	b, err := newBench(t.Context(), f.Executor, f.cache, Options{Width: 16, Height: 16, TilesX: 2, TilesY: 2}, "resident")
	if err != nil {
		t.Fatal(err)
	}
	defer b.sim.Close()
	if err := b.sim.memory.fields[b.sim.now].Upload(t.Context(), 5, []float32{0.1}); err != nil {
		t.Fatal(err)
	}
	row, err := b.row("step", 1)
	if err != nil || row.Verified {
		t.Errorf("row %+v, %v", row, err)
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
