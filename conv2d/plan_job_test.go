//go:build linux

package conv2d

import (
	"math"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// newExecutor is an executor and the cache that its programs come from.
func newExecutor(t *testing.T) (*executor.Executor, *cache.Cache) {
	context := gltest.Open(t)
	programs := newCache(t, context, t.TempDir())
	e, err := executor.New(context, programs, executor.Options{SlotBytes: 1 << 19, SlotJobs: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if n := programs.Stats().InUse; n != 0 {
			t.Errorf("%d programs are still in use", n)
		}
	})
	return e, programs
}

func deviceCopy(t *testing.T, e *executor.Executor, values []float32) *executor.Buffer[float32] {
	t.Helper()
	if values == nil {
		return nil
	}
	b, err := executor.BufferOf(e, values)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Release)
	return b
}

func poisoned(n int) []float32 { return filled(n, math.Float32frombits(Poison)) }

// TestJobsInFlight keeps several convolutions in flight over the same weights, of
// one dispatch and of several.
func TestJobsInFlight(t *testing.T) {
	seed := newSeed(t)
	e, programs := newExecutor(t)
	const frames = 6
	for i, p := range []Problem{
		{N: 1, C: 3, H: 32, W: 32, K: 16, R: 3, S: 3, Bias: true},
		{N: 2, C: 2, H: 11, W: 13, K: 2, R: 2, S: 3, StrideH: 5, StrideW: 7},
		{N: 1, C: 8192, H: 3, W: 3, K: 1, R: 3, S: 3, Bias: true},
	} {
		plan := mustPlan(t, e, programs, p.Shape(), PlanOptions{Choice: &Choice{"direct", DirectParams{Local: directLocal}}})
		in, _ := hostOf(t, plan.first().task, seed+uint64(i))
		if _, err := plan.SetWeights(t.Context(), 1, in.Weights, in.Bias); err != nil {
			t.Fatal(err)
		}
		var inputs, outputs [frames][]float32
		var pending [frames]*executor.Pending
		for frame := range frames {
			inputs[frame] = RandomValues(p.InputLen(), seed+uint64(1000*i+frame))
			outputs[frame] = poisoned(p.OutputLen())
			job, err := plan.Job(inputs[frame], outputs[frame])
			if err != nil {
				t.Fatal(err)
			}
			if n := 1 + len(job.Then); n != len(p.reduction().spans()) {
				t.Errorf("%v: %d dispatches", p, n)
			}
			if pending[frame], err = e.Submit(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
		for frame := range frames {
			if err := pending[frame].Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkOutput(t, p.String(), outputs[frame], ReferenceConv2D(p, inputs[frame], in.Weights, in.Bias), plan.first().tolerance)
		}
	}
}
