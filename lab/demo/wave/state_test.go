//go:build linux

package wave

import "testing"

// The current buffer of the state has each height at Index, and a clone does not change
// with its reference.
func TestStateAndClone(t *testing.T) {
	f := newFixture(t)
	o := Options{Width: 20, Height: 12, TilesX: 3, TilesY: 2}
	s, r := f.pair(o)
	for range 3 {
		f.poke(s, Impulse{7, 5, 1})
		if err := r.Excite(Impulse{7, 5, 1}); err != nil {
			t.Fatal(err)
		}
		f.step(s, 1)
		r.Step(1)
		buffers, current := s.State()
		heights := make([]float32, buffers[current].Len())
		if err := buffers[current].Download(t.Context(), 0, heights); err != nil {
			t.Fatal(err)
		}
		for y := range o.Height {
			for x := range o.Width {
				if got, want := heights[s.Index(x, y)], r.Field()[y*o.Width+x]; got != want {
					t.Fatalf("cell %d,%d is %v, want %v", x, y, got, want)
				}
			}
		}
	}
	clone := r.Clone()
	before := clone.Field()[5*o.Width+7]
	r.Step(1)
	if clone.Steps() != 3 || clone.Field()[5*o.Width+7] != before || clone.Compare(r.Field()) == nil {
		t.Error("the clone changed with its reference")
	}
}
