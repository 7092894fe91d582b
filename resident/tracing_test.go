//go:build linux

package resident

import (
	"testing"

	"github.com/shadercache/shadercache/trace"
)

// TestTracerSeesTicks checks that the ticks of a run do its steps, one after another.
func TestTracerSeesTicks(t *testing.T) {
	const steps = 64
	for _, strategy := range []Strategy{Redispatch, Triple} {
		f, recorder := newFixture(t), trace.NewRecorder(0)
		s := f.session(chainKernel(), Options{Strategy: strategy, Budget: 8, Tracer: recorder})
		run(t, s, steps)
		wantWords(t, words(t, s, "Cells", len(chainStart())), chainAfter(steps))
		var done, ticks, onGPU int64
		for _, e := range recorder.Recording().Events {
			switch e.Lane {
			case trace.Session:
				if e.Name != trace.Tick || e.Took <= 0 {
					t.Errorf("%+v", e)
				}
				done += e.Attr("steps").(int64)
				ticks += e.Attr("ticks").(int64)
			case trace.GPU:
				onGPU += e.Attr("steps").(int64)
			}
		}
		if done != steps || ticks != int64(s.Stats().Ticks) {
			t.Errorf("%v: the ticks of %d steps did %d, and were %d of %d", strategy, steps, done, ticks, s.Stats().Ticks)
		}
		if onGPU > 0 && f.context.Info().Software() || onGPU > steps {
			t.Errorf("%v: %d steps by the GPU's clock", strategy, onGPU)
		}
	}
}
