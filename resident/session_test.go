//go:build linux

package resident

import (
	"testing"
	"time"
)

// TestEveryStrategyGivesTheSameState runs the same steps in every form, in runs
// of odd lengths, and compares every word with the CPU.
func TestEveryStrategyGivesTheSameState(t *testing.T) {
	f := newFixture(t)
	want := chainAfter(5000)
	for _, strategy := range Strategies() {
		t.Run(strategy.String(), func(t *testing.T) {
			s := f.session(chainKernel(), Options{Strategy: strategy, TickTime: 2 * time.Millisecond, Slice: 5 * time.Millisecond})
			for _, steps := range []uint64{1, 3999, 17, 983} {
				run(t, s, steps)
			}
			wantWords(t, words(t, s, "Cells", chainCells), want)
			if p := s.Progress(); p != 5000 {
				t.Errorf("progress is %d, not 5000", p)
			}
			t.Log(s.Form())
		})
	}
}
