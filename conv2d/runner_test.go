//go:build linux

package conv2d

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// TestRunner computes every problem by what the plan of a call chooses, three ways.
func TestRunner(t *testing.T) {
	seed := newSeed(t)
	threeWays(t, func(t *testing.T, r *Runner) {
		for _, s := range planProblems {
			k, err := newTask(s, r.Executor.Context().Info())
			if err != nil {
				t.Fatal(err)
			}
			in, want := hostOf(t, k, seed)
			var got []float32
			if s.Conv2D != nil {
				got, err = r.Conv2D(t.Context(), *s.Conv2D, in.Input, in.Weights, in.Bias)
			} else {
				got, err = r.GEMM(t.Context(), *s.GEMM, GEMMTensors{A: in.Input, B: in.Weights, C: in.Output, Bias: in.Bias})
			}
			if err != nil {
				t.Errorf("%v: %v", s, err)
				continue
			}
			checkOutput(t, s.String(), got, want, Tolerance(k.sum))
		}
	})
}

func TestRunnerRefusesBadInput(t *testing.T) {
	r := newRunner(t)
	gpu := r.Executor.Context()
	before := gpu.Counters()
	good := Problem{N: 1, C: 1, H: 3, W: 3, K: 1, R: 3, S: 3}
	withBias := good
	withBias.Bias = true
	nine := make([]float32, 9)
	for _, test := range []struct {
		want                 string
		problem              Problem
		input, weights, bias []float32
	}{
		{"K is 0", Problem{}, nil, nil, nil},
		{"input has 8 elements, the problem needs 9", good, nine[:8], nine, nil},
		{"weights has 0 elements", good, nine, nil, nil},
		{"bias has 2 elements, the problem needs 0", good, nine, nine, nine[:2]},
		{"bias has 0 elements, the problem needs 1", withBias, nine, nine, nil},
	} {
		output, err := r.Conv2D(t.Context(), test.problem, test.input, test.weights, test.bias)
		if err == nil || !strings.Contains(err.Error(), test.want) || output != nil {
			t.Errorf("error %v does not say %q", err, test.want)
		}
	}
	for want, in := range map[string]GEMMTensors{
		"A has 0 elements":    {},
		"B has 1 elements":    {A: nine, B: nine[:1]},
		"C has 8 elements":    {A: nine, B: nine, C: nine[:8]},
		"bias has 9 elements": {A: nine, B: nine, Bias: nine},
	} {
		if _, err := r.GEMM(t.Context(), plain(3, 3, 3), in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	r.Options.Choice = &Choice{Algorithm: "nothing"}
	if _, err := r.GEMM(t.Context(), plain(3, 3, 3), GEMMTensors{A: nine, B: nine}); err == nil || !strings.Contains(err.Error(), `no algorithm "nothing"`) {
		t.Errorf("an unknown algorithm: %v", err)
	}
	if err := gpu.Do(func(*glctx.GL) error { return nil }); err != nil { // deletions are posted
		t.Error(err)
	}
	if after := gpu.Counters(); after.Dispatches != before.Dispatches || after.Buffers != before.Buffers {
		t.Errorf("counters before %+v, after %+v", before, after)
	}
}

func TestTasksRefuseTensorsPastTheStorageLimit(t *testing.T) {
	s := Problem{N: 1, C: 1, H: 10, W: 30, K: 1, R: 1, S: 1}.Shape()
	info := glctx.Info{Limits: job.Limits{MaxGroups: guaranteed.maxGroups, MaxStorage: 1000}, MaxInvocations: 64}
	if _, err := newTask(s, info); err == nil || !strings.Contains(err.Error(), "1456 bytes, this device allows 1000: split the problem") {
		t.Errorf("error is %v", err)
	}
	info.MaxStorage = 1456
	if _, err := newTask(s, info); err != nil {
		t.Error(err)
	}
}

func TestRunnerStopsWhenTheContextEnds(t *testing.T) {
	r := newRunner(t)
	gpu := r.Executor.Context()
	p := Problem{N: 1, C: 8192, H: 3, W: 3, K: 1, R: 3, S: 3}
	for _, atOnce := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		stop := &stoppingPrograms{Programs: r.Programs, stop: cancel}
		if atOnce {
			cancel()
		}
		before := gpu.Counters()
		stopped := &Runner{Executor: r.Executor, Programs: stop}
		_, err := stopped.Conv2D(ctx, p, filled(p.InputLen(), 1), filled(p.WeightsLen(), 1), nil)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		if err := gpu.Do(func(*glctx.GL) error { return nil }); err != nil { // deletions are posted
			t.Error(err)
		}
		if after := gpu.Counters(); after.Buffers != before.Buffers || after.Dispatches != before.Dispatches {
			t.Errorf("counters before %+v, after %+v", before, after)
		}
	}
}

// stoppingPrograms calls stop once a program was given out.
type stoppingPrograms struct {
	executor.Programs
	stop func()
}

func (p *stoppingPrograms) Get(ctx context.Context, source *shader.Source) (*cache.Handle, error) {
	defer p.stop()
	return p.Programs.Get(ctx, source)
}

func TestRunnerPassesOnCompileErrors(t *testing.T) {
	withConvAlgorithms(t, brokenAlgorithm)
	p := Problem{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1}
	one := []float32{1}
	_, err := newRunner(t).Conv2D(t.Context(), p, one, one, nil)
	if _, ok := errors.AsType[*shader.CompileError](err); !ok {
		t.Errorf("error is %v, want a compile error", err)
	}
}

// brokenAlgorithm is direct with a kernel that does not compile.
var brokenAlgorithm = algorithm[Problem]{
	name:       "does_not_compile",
	candidates: directAlgorithm.candidates,
	tolerance:  directAlgorithm.tolerance,
	sequence: func(p Problem, params Params, on device) (kernel.Sequence, error) {
		s, err := directAlgorithm.sequence(p, params, on)
		text := strings.Replace(s.Steps[0].Source.Text(), "void main()", "void main(", 1)
		s.Steps[0].Source = shader.MustSource("does_not_compile", text, nil)
		return s, err
	},
}
