//go:build linux

package wave

import (
	"runtime"
	"testing"
)

// The reference on several cores computes the same bits as on one.
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
			r.excite(Impulse{125, 130, 1})
			r.excite(Impulse{0, 65, -0.3})
			r.Step(60)
		}
		runtime.GOMAXPROCS(before)
		if err := bands.Compare(whole.Field()); err != nil {
			t.Errorf("%v: %v", border, err)
		}
		if whole.Energy() == 0 {
			t.Errorf("%v: the energy is 0", border)
		}
	}
}

// BenchmarkStep measures one step of a grid of 512x512 in 16x16 tiles.
func BenchmarkStep(b *testing.B) {
	f := newFixture(b)
	s, _ := f.pair(Options{Width: 512, Height: 512, TilesX: 16, TilesY: 16})
	b.SetBytes(int64(3 * 4 * s.options.cells()))
	b.ResetTimer()
	if err := s.Step(b.Context(), b.N); err != nil {
		b.Fatal(err)
	}
}
