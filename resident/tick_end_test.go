//go:build linux

package resident

import (
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

// TestTicksEndWithoutFences runs ticks whose end mapped memory shows, and ticks for which
// it does not, so that a fence is added behind them.
func TestTicksEndWithoutFences(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range []Strategy{Redispatch, Double, Triple, Mega} {
		for _, unseen := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, unseen %t", strategy, unseen), func(t *testing.T) {
				o := Options{Strategy: strategy, Budget: 7, test: testOptions{unfenced: true, unseen: unseen}}
				fences := f.context.Counters().Fences
				s := f.session(chainKernel(), o)
				for _, steps := range []uint64{1, 500, 17} {
					run(t, s, steps)
				}
				wantWords(t, words(t, s, "Cells", chainCells), chainAfter(518))
				// A tick that is late, as the first one may be, is polled too.
				if n := s.Stats(); (n.Polls > n.Ticks/4) != unseen || n.Ticks != n.Dispatches {
					t.Errorf("%+v", n)
				}
				if n := f.context.Counters().Fences; n != fences {
					t.Errorf("%d fences, there were %d", n, fences)
				}
			})
		}
	}
}

// TestPhasesEndWithoutFences does the same with a dispatch for each phase, and with a
// session that is closed during a run.
func TestPhasesEndWithoutFences(t *testing.T) {
	f := newFixture(t)
	w := Neighbours{Groups: 5, Local: 8}
	for _, unseen := range []bool{false, true} {
		fences := f.context.Counters().Fences
		s := f.session(w.Kernel(), Options{Strategy: Triple, test: testOptions{unfenced: true, unseen: unseen}})
		run(t, s, 100)
		got := make([]uint32, w.Groups*w.Local)
		if err := s.Read(t.Context(), "Ring", 0, glctx.Bytes(got)); err != nil {
			t.Fatal(err)
		}
		wantWords(t, got, w.after(100))
		if err := s.Start(0); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if n := f.context.Counters().Fences; n != fences {
			t.Errorf("%d fences, there were %d", n, fences)
		}
	}
}
