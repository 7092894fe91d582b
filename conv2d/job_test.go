//go:build linux

package conv2d

import (
	"math"
	"strings"
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

// TestConv2DJobs keeps several convolutions in flight over the same weights.
func TestConv2DJobs(t *testing.T) {
	seed := newSeed(t)
	e, programs := newExecutor(t)
	problems := []Problem{
		{N: 1, C: 3, H: 32, W: 32, K: 16, R: 3, S: 3},
		{N: 1, C: 2, H: 19, W: 23, K: 3, R: 5, S: 5, StrideH: 2, StrideW: 2, PadH: 2, PadW: 2},
		{N: 2, C: 2, H: 11, W: 13, K: 2, R: 2, S: 3, StrideH: 5, StrideW: 7},
		{N: 1, C: 8192, H: 3, W: 3, K: 1, R: 3, S: 3},
	}
	const frames = 6
	for i, p := range problems {
		program, err := programs.Get(t.Context(), p.Source())
		if err != nil {
			t.Fatal(err)
		}
		weights := RandomValues(p.WeightsLen(), seed+uint64(i))
		bias := RandomValues(p.BiasLen(), seed+100)
		if i%2 == 1 {
			bias = nil
		}
		onDevice, biasOnDevice := deviceCopy(t, e, weights), deviceCopy(t, e, bias)
		var inputs, outputs [frames][]float32
		var pending [frames]*executor.Pending
		for frame := range frames {
			inputs[frame] = RandomValues(p.InputLen(), seed+uint64(1000*i+frame))
			outputs[frame] = poisoned(p.OutputLen())
			job, err := p.Job(program, inputs[frame], onDevice, biasOnDevice, outputs[frame])
			if err != nil {
				t.Fatal(err)
			}
			if n := 1 + len(job.Then); n != p.reduction().dispatches() {
				t.Errorf("%v: %d dispatches", p, n)
			}
			if pending[frame], err = e.Submit(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
		program.Release()
		for frame := range frames {
			if err := pending[frame].Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			report := Compare(outputs[frame], ReferenceConv2D(p, inputs[frame], weights, bias), Tolerance(p.ReductionLen()))
			if err := report.Err(); err != nil {
				t.Errorf("%v, frame %d: %v", p, frame, err)
			}
		}
	}
}

func TestGEMMJobs(t *testing.T) {
	seed := newSeed(t)
	e, programs := newExecutor(t)
	v := Variant{Tile: Tile32, Activation: ReLU, Scale: 2}
	source, err := v.Source()
	if err != nil {
		t.Fatal(err)
	}
	program, err := programs.Get(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Release()
	for i, p := range []GEMMProblem{plain(17, 17, 17), plain(33, 129, 90), plain(1, 2, 50_000)} {
		a, b := RandomValues(p.ALen(), seed+uint64(2*i)), RandomValues(p.BLen(), seed+uint64(2*i+1))
		c := poisoned(p.CLen())
		job, err := v.Job(program, p, a, deviceCopy(t, e, b), c)
		if err != nil {
			t.Fatal(err)
		}
		pending, err := e.Submit(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if err := pending.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := Compare(c, ReferenceGEMM(p, GEMMTensors{A: a, B: b}).Activated(v), Tolerance(p.ReductionLen())).Err(); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func TestJobsRefuseWrongLengths(t *testing.T) {
	e, _ := newExecutor(t)
	p := Problem{N: 1, C: 1, H: 3, W: 3, K: 1, R: 3, S: 3}
	nine := make([]float32, 9)
	right, wrong := deviceCopy(t, e, nine), deviceCopy(t, e, nine[:8])
	for want, run := range map[string]func() (executor.Job, error){
		"K is 0":           func() (executor.Job, error) { return Problem{}.Job(nil, nine, right, nil, nine) },
		"input has 8":      func() (executor.Job, error) { return p.Job(nil, nine[:8], right, nil, nine[:1]) },
		"weights has 8":    func() (executor.Job, error) { return p.Job(nil, nine, wrong, nil, nine[:1]) },
		"bias has 8":       func() (executor.Job, error) { return p.Job(nil, nine, right, wrong, nine[:1]) },
		"output has 9":     func() (executor.Job, error) { return p.Job(nil, nine, right, nil, nine) },
		"B has 8 elements": func() (executor.Job, error) { return smallVariant.Job(nil, plain(3, 3, 3), nine, wrong, nine) },
		"C has 8 elements": func() (executor.Job, error) {
			return smallVariant.Job(nil, plain(3, 3, 3), nine, right, nine[:8])
		},
		"M is 0, must be at l": func() (executor.Job, error) { return smallVariant.Job(nil, GEMMProblem{}, nine, right, nine) },
	} {
		if _, err := run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
