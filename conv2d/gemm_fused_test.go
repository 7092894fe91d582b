//go:build linux

package conv2d

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// fusedCase is a product whose last groups add parts.
type fusedCase struct {
	GEMMProblem
	Choice
}

// fusedCases are of both kernels, with many blocks and with many parts.
var fusedCases = []fusedCase{
	{
		GEMMProblem{M: 50, N: 70, K: 64, Batch: 2, StrideA: 50 * 64, StrideC: 50 * 70, Bias: RowBias, Activation: ReLU},
		Choice{"gemm_block", with(block(16, 16, 4, 4, 4, 1, 1), "split", 16, "fused", 2)},
	},
	{
		GEMMProblem{M: 2, N: 300, K: 200, Factors: AlphaBeta(2, 0)},
		Choice{"gemm_row", SkinnyParams{Lanes: 8, Slices: 4, Split: 7, Fused: 4}},
	},
}

func (c fusedCase) String() string { return fmt.Sprint(c.Choice, " for ", c.GEMMProblem) }

// plan is a plan with weights, an input, and what comes out.
func (c fusedCase) plan(t *testing.T, e *executor.Executor, programs executor.Programs, seed uint64) (*Plan, []float32, Expected) {
	t.Helper()
	p := mustPlan(t, e, programs, c.Shape(), PlanOptions{Choice: &c.Choice})
	in, want := hostOf(t, p.first().task, seed)
	if _, err := p.SetWeights(t.Context(), 1, in.Weights, in.Bias); err != nil {
		t.Fatal(err)
	}
	if n := len(p.first().sequence.Steps); n != 1 {
		t.Errorf("%v: %d dispatches", c, n)
	}
	return p, in.Input, want
}

// inFlight is a run whose output was poisoned before.
type inFlight struct {
	plan    *Plan
	want    Expected
	output  []float32
	pending executor.Pending
}

// start submits a run.
func (f *inFlight) start(t *testing.T, e *executor.Executor, p *Plan, input []float32, want Expected) {
	t.Helper()
	f.plan, f.want, f.output = p, want, poisoned(p.Info().Output)
	job, err := p.Job(input, f.output)
	if err == nil {
		err = e.SubmitInto(t.Context(), &job, &f.pending)
	}
	if err != nil {
		t.Error(err)
	}
}

// end waits for a run and compares what it made.
func (f *inFlight) end(t *testing.T) {
	t.Helper()
	if err := f.pending.Wait(t.Context()); err != nil {
		t.Error(err)
		return
	}
	checkOutput(t, f.plan.first().choice.String(), f.output, f.want, f.plan.first().tolerance)
}

// checkSemaphores fails where a semaphore of a plan is not 0.
func checkSemaphores(t *testing.T, p *Plan) {
	t.Helper()
	counts := make([]uint32, p.first().sequence.SemaphoreCount)
	if err := p.first().semaphores.Download(t.Context(), 0, glctx.Bytes(counts)); err != nil {
		t.Error(err)
	}
	if len(counts) == 0 || slices.Max(counts) != 0 {
		t.Errorf("%v leaves the counts %v", p.first().choice, counts)
	}
}

// TestFusedRunsAgain runs one sequence several times in the same memory: the order of
// the parts, and so every bit of the result, stays the same.
func TestFusedRunsAgain(t *testing.T) {
	t.Parallel()
	seed := newSeed(t)
	r := newRig(t)
	for _, c := range fusedCases {
		k, err := newTask(c.Shape(), r.context.Info())
		if err != nil {
			t.Fatal(err)
		}
		in, want := hostOf(t, k, seed)
		made, tolerance, err := k.build(c.Choice)
		if err != nil {
			t.Fatal(err)
		}
		programs, err := r.programs(t, made)
		if err != nil {
			t.Fatal(err)
		}
		err = r.onDevice(in, len(want.Values), func(gl *glctx.GL, tensors *kernel.DeviceTensors) error {
			run, err := kernel.NewRun(gl, made, programs)
			if err != nil {
				return err
			}
			defer run.Free()
			first, err := run.Checked(tensors)
			if err != nil {
				return err
			}
			checkOutput(t, c.String(), first, want, tolerance)
			for range 10 {
				tensors.PoisonOutput(gl)
				run.Repeat(tensors, 3)
				again, err := tensors.ReadOutput(gl)
				if err := errors.Join(err, run.CheckSemaphores()); err != nil {
					return err
				}
				if !slices.Equal(again, first) {
					t.Errorf("%v: another result from the same input", c)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestFusedJobsInFlight keeps jobs of several plans in flight side by side, from
// several executors: each plan has counts of its own, and its jobs take turns.
func TestFusedJobsInFlight(t *testing.T) {
	seed := newSeed(t)
	device := gltest.Open(t)
	programs := newCache(t, device, t.TempDir())
	var group sync.WaitGroup
	for number := range 2 {
		e, err := executor.New(device, programs, executor.Options{SlotBytes: 1 << 19, SlotJobs: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		var plans []*Plan
		var inputs [][]float32
		var wants []Expected
		for i, c := range append(fusedCases, fusedCases[0]) {
			p, input, want := c.plan(t, e, programs, seed+uint64(10*number+i))
			checkSemaphores(t, p)
			plans, inputs, wants = append(plans, p), append(inputs, input), append(wants, want)
		}
		group.Go(func() {
			var runs [24]inFlight
			const ahead = 8 // as many as have room
			for i := range runs {
				if i >= ahead {
					runs[i-ahead].end(t)
				}
				k := i / 2 % len(plans)
				runs[i].start(t, e, plans[k], inputs[k], wants[k])
			}
			for i := range ahead {
				runs[len(runs)-ahead+i].end(t)
			}
			for _, p := range plans {
				checkSemaphores(t, p)
			}
		})
	}
	group.Wait()
}

// TestFusedJobsOfOnePlanTakeTurns checks that two jobs of a plan do not write its
// shared memory at the same time.
func TestFusedJobsOfOnePlanTakeTurns(t *testing.T) {
	seed := newSeed(t)
	e, programs := newExecutor(t)
	p, input, _ := fusedCases[1].plan(t, e, programs, seed)
	output, err := e.NewMemory(4 * p.Info().Output)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Release()
	in := deviceCopy(t, e, input)
	dispatches, err := p.Dispatches(Operands{Input: in.Memory, Output: output})
	if err != nil {
		t.Fatal(err)
	}
	shared := 0
	for _, b := range dispatches[0].Buffers {
		if (b.Buffer == p.first().workspace || b.Buffer == p.first().semaphores) && !b.ReadOnly {
			shared++
		}
	}
	if shared != 2 || p.first().workspace == p.first().semaphores {
		t.Errorf("%d buffers order the jobs of a plan", shared)
	}
	before := e.Stats().Barriers
	for range 4 {
		if err := run(t.Context(), e, append(dispatches, dispatches...)); err != nil {
			t.Fatal(err)
		}
	}
	if n := e.Stats().Barriers - before; n < 7 {
		t.Errorf("%d barriers between 8 dispatches that share memory", n)
	}
	checkSemaphores(t, p)
}

// TestFusedAfterCancelledRuns checks that a job ends correctly without a Wait.
func TestFusedAfterCancelledRuns(t *testing.T) {
	seed := newSeed(t)
	e, programs := newExecutor(t)
	for _, c := range fusedCases {
		p, input, want := c.plan(t, e, programs, seed)
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			var left inFlight
			left.start(t, e, p, input, want)
			cancel()
			if err := left.pending.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			left.pending.Release()
			if err := p.Run(ctx, input, poisoned(p.Info().Output)); !errors.Is(err, context.Canceled) {
				t.Errorf("a run that is cancelled: %v", err)
			}
		}
		var last inFlight
		last.start(t, e, p, input, want)
		last.end(t)
		checkSemaphores(t, p)
	}
}

// TestFusedAfterTheContextIsGone closes the context under a run: semaphores belong to
// a plan's memory, and those of the next context begin at 0.
func TestFusedAfterTheContextIsGone(t *testing.T) {
	seed := newSeed(t)
	gltest.Open(t) // skips where there is no driver
	for round := range 2 {
		gpu, err := glctx.Open(glctx.Options{DriverCacheOff: true})
		if err != nil {
			t.Fatal(err)
		}
		programs := newCache(t, gpu, t.TempDir())
		e, err := executor.New(gpu, programs, executor.Options{SlotBytes: 1 << 19})
		if err != nil {
			t.Fatal(err)
		}
		p, input, want := fusedCases[0].plan(t, e, programs, seed)
		checkSemaphores(t, p)
		var run inFlight
		run.start(t, e, p, input, want)
		if round == 0 {
			if err := gpu.Close(); err != nil {
				t.Error(err)
			}
			if err := run.pending.Wait(t.Context()); err != nil && !errors.Is(err, shader.ErrClosed) {
				t.Errorf("wait: %v", err)
			}
			if err := p.Run(t.Context(), input, run.output); !errors.Is(err, shader.ErrClosed) {
				t.Errorf("a run without a context: %v", err)
			}
			p.Release()
			_ = e.Close() // it has nothing to wait with
			continue
		}
		run.end(t)
		checkSemaphores(t, p)
		p.Release()
		if err := errors.Join(e.Close(), gpu.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestSemaphoresThatAreLeftAreErrors has a kernel that is right once and leaves its
// semaphores: it never reaches a plan by a search.
func TestSemaphoresThatAreLeftAreErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range fusedCases {
		k, err := newTask(c.Shape(), r.context.Info())
		if err != nil {
			t.Fatal(err)
		}
		made, _, err := k.build(c.Choice)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(made.Steps[0].Source.Text(), "semaphores[block] = 0u;", "semaphores[block] = 3u;", 1)
		made.Steps[0].Source = shader.MustSource("leaves_counts", text, nil)
		in, want := hostOf(t, k, newSeed(t))
		if _, err := r.run(t, made, in, want, Tolerance(k.sum)); !errors.Is(err, kernel.ErrSemaphores) {
			t.Errorf("%v: error is %v", c, err)
		}
	}
}
