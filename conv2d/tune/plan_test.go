//go:build linux

package tune

import (
	"errors"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
)

// TestPlanTunes has the first plan search. The next one, in another cache over the
// same directory, has nothing to search and nothing to compile.
func TestPlanTunes(t *testing.T) {
	context, dir := gltest.Open(t), t.TempDir()
	for round := range 2 {
		programs, err := cache.New(context, cache.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		e, err := executor.New(context, programs, executor.Options{SlotBytes: 1 << 16, SlotJobs: 2})
		if err != nil {
			t.Fatal(err)
		}
		before := context.Counters()
		searched := 0
		p, err := conv2d.NewPlan(t.Context(), e, programs, []conv2d.Layer{{Shape: sampleConv.Shape()}}, conv2d.PlanOptions{Tune: &Options{
			Budget: time.Millisecond, Progress: func(int, int, Candidate) { searched++ },
		}})
		if err != nil {
			t.Fatal(err)
		}
		if basis := p.Info().Layers[0].Basis; basis != string(conv2d.ByTuning) || (searched > 0) != (round == 0) {
			t.Errorf("round %d: by %s after %d candidates", round, basis, searched)
		}
		after := context.Counters()
		if compiles := after.Compiles - before.Compiles; (compiles > 0) != (round == 0) {
			t.Errorf("round %d: %d compiles", round, compiles)
		}
		for _, used := range p.Info().Programs {
			if round == 1 && used.Origin != job.Disk {
				t.Errorf("%s is %v", used.Name, used.Origin)
			}
		}
		checkPlan(t, e, p)
		p.Release()
		if err := errors.Join(e.Close(), programs.Close()); err != nil {
			t.Error(err)
		}
	}
}

// checkPlan runs a plan of sampleConv by Run and as a job.
func checkPlan(t *testing.T, e *executor.Executor, p *conv2d.Plan) {
	t.Helper()
	seed := newSeed(t)
	input, weights := conv2d.RandomValues(p.Info().Input, seed), conv2d.RandomValues(p.Info().Weights, seed+1)
	want := conv2d.ReferenceConv2D(sampleConv, input, weights, nil)
	if _, err := p.SetWeights(t.Context(), 1, weights, nil); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(output []float32) error{
		"Run": func(output []float32) error { return p.Run(t.Context(), input, output) },
		"Job": func(output []float32) error {
			job, err := p.Job(input, output)
			if err != nil {
				return err
			}
			pending, err := e.Submit(t.Context(), job)
			if err != nil {
				return err
			}
			defer pending.Release()
			return pending.Wait(t.Context())
		},
	} {
		output := make([]float32, p.Info().Output)
		if err := run(output); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r := conv2d.Compare(output, want, p.Info().Layers[0].Tolerance); !r.OK() {
			t.Errorf("%s: %v", name, r)
		}
	}
}
