//go:build linux

package conv2d

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// planProblems have one of everything.
var planProblems = []Shape{
	Problem{N: 1, C: 3, H: 12, W: 14, K: 5, R: 3, S: 3, PadH: 1, PadW: 1}.Shape(),
	Problem{N: 2, C: 4, H: 11, W: 9, K: 8, R: 2, S: 3, StrideH: 2, StrideW: 1, Groups: 2, Bias: true, Activation: ReLU}.Shape(),
	Problem{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1}.Shape(),
	GEMMProblem{M: 17, N: 33, K: 9}.Shape(),
	GEMMProblem{M: 16, N: 20, K: 24, TransA: true, TransB: true, Factors: AlphaBeta(0.5, 0), Bias: ColumnBias, Activation: SiLU}.Shape(),
	GEMMProblem{M: 8, N: 7, K: 6, Factors: AlphaBeta(1, 2), LDC: 9, Batch: 2, StrideA: 48, StrideB: 0, StrideC: 80, Bias: RowBias}.Shape(),
	GEMMProblem{M: 1, N: 1, K: 1}.Shape(),
}

// hostOf makes random tensors for a task, and what comes out.
func hostOf(t *testing.T, k task, seed uint64) (kernel.Tensors, Expected) {
	t.Helper()
	in := kernel.Tensors{Input: RandomValues(k.input, seed), Weights: RandomValues(k.weights, seed+1)}
	if k.bias > 0 {
		in.Bias = RandomValues(k.bias, seed+2)
	}
	if k.keepsOutput {
		in.Output = RandomValues(k.output, seed+3)
	}
	return in, k.shape.reference(in)
}

func checkOutput(t *testing.T, what string, got []float32, want Expected, tolerance float64) {
	t.Helper()
	if r := Compare(got, want, tolerance); !r.OK() {
		t.Errorf("%s: %v", what, r)
	}
}

func mustPlan(t *testing.T, e *executor.Executor, programs executor.Programs, s Shape, o PlanOptions) *Plan {
	t.Helper()
	p, err := NewPlan(t.Context(), e, programs, []Layer{{Shape: s}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}

// TestPlans computes every problem by the likeliest candidate of every algorithm,
// as a job, by Run, and with weights that come with the run.
func TestPlans(t *testing.T) {
	seed := newSeed(t)
	e, programs := newExecutor(t)
	for i, s := range planProblems {
		k, err := newTask(s, e.Context().Info())
		if err != nil {
			t.Fatal(err)
		}
		in, want := hostOf(t, k, seed+uint64(10*i))
		ran := 0
		for _, o := range k.offers {
			if len(o.candidates) == 0 {
				continue
			}
			ran++
			p := mustPlan(t, e, programs, s, PlanOptions{Choice: &Choice{o.name, o.candidates[0]}})
			runPlanThreeWays(t, e, p, in, want)
		}
		if ran == 0 {
			t.Errorf("nothing computes %v", s)
		}
	}
}

func runPlanThreeWays(t *testing.T, e *executor.Executor, p *Plan, in kernel.Tensors, want Expected) {
	t.Helper()
	ctx := t.Context()
	if _, err := p.Dispatches(Operands{Input: deviceCopy(t, e, in.Input).Memory, Output: deviceCopy(t, e, poisoned(p.Info().Output)).Memory}); !errors.Is(err, ErrNoWeights) {
		t.Errorf("%v without weights: %v", p.first().shape, err)
	}
	if _, err := p.SetWeights(ctx, 1, in.Weights, in.Bias); err != nil {
		t.Fatal(err)
	}
	output := func() []float32 {
		if in.Output != nil {
			return append([]float32(nil), in.Output...)
		}
		return poisoned(p.Info().Output)
	}
	only := p.first()
	name, tolerance := only.shape.String()+" by "+only.choice.String(), only.tolerance

	out := output()
	if err := p.Run(ctx, in.Input, out); err != nil {
		t.Fatal(err)
	}
	checkOutput(t, name+", Run", out, want, tolerance)

	out = output()
	job, err := p.Job(in.Input, out)
	if p.KeepsOutput() {
		if err == nil {
			t.Errorf("%s: a job for an output that is there", name)
		}
	} else if err != nil {
		t.Error(err)
	} else {
		submit(t, e, job)
		checkOutput(t, name+", Job", out, want, tolerance)
		if len(job.Then) == 0 && job.Operations != float64(only.flops) {
			t.Errorf("%s: a job of one dispatch has %g operations, not %d", name, job.Operations, only.flops)
		}
	}

	device, out := deviceCopy(t, e, output()), poisoned(p.Info().Output)
	o := Operands{Input: deviceCopy(t, e, in.Input).Memory, Output: device.Memory, Weights: deviceCopy(t, e, in.Weights).Memory}
	if in.Bias != nil {
		o.Bias = deviceCopy(t, e, in.Bias).Memory
	}
	dispatches, err := p.Dispatches(o)
	if err != nil {
		t.Fatal(err)
	}
	submit(t, e, JobOf(dispatches...))
	if err := device.Download(ctx, 0, out); err != nil {
		t.Fatal(err)
	}
	checkOutput(t, name+", Dispatches", out, want, tolerance)
}

func submit(t *testing.T, e *executor.Executor, job job.Job) {
	t.Helper()
	pending, err := e.Submit(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if err := pending.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

const copyKernel = `
layout(local_size_x = 32) in;
layout(std430, binding = 1) readonly buffer Weights { float weights[]; };
layout(std430, binding = 4) buffer Packed { float turned[]; };
uniform int count;
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i < count) {
        turned[count - 1 - i] = weights[i] * 2.0;
    }
}
`

const unpackKernel = `
layout(local_size_x = 32) in;
layout(std430, binding = 4) readonly buffer Packed { float turned[]; };
layout(std430, binding = 5) buffer Workspace { float workspace[]; };
uniform int count;
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i < count) {
        workspace[i] = turned[count - 1 - i] * 0.5;
    }
}
`

// packingAlgorithm is direct with weights that are prepared, reversed and
// doubled, and a workspace that has them as they were.
var packingAlgorithm = algorithm[Problem]{
	name:       "packing",
	candidates: func(Problem, device) []Params { return []Params{DirectParams{Local: 64}} },
	tolerance:  directAlgorithm.tolerance,
	sequence: func(p Problem, params Params, on device) (kernel.Sequence, error) {
		r, err := directAlgorithm.sequence(p, params, on)
		for i := range r.Steps {
			bound := append([]kernel.Binding(nil), r.Steps[i].Bindings...)
			for k := range bound {
				if bound[k].Role == kernel.Weights {
					bound[k].Role = kernel.Workspace
				}
			}
			r.Steps[i].Bindings = bound
		}
		n := p.WeightsLen()
		r.PackedLen, r.WorkspaceLen = n, n
		r.Prepare = []kernel.Step{{
			Source: shader.MustSource("test_pack", copyKernel, nil), Groups: [3]int{ceilDiv(n, 32), 1, 1},
			Uniforms: kernel.Ints{{"count", n}}.Uniforms(), Bindings: []kernel.Binding{kernel.Weights.At(1), kernel.Packed.At(4)},
		}}
		r.Steps = append([]kernel.Step{{
			Source: shader.MustSource("test_unpack", unpackKernel, nil), Groups: [3]int{ceilDiv(n, 32), 1, 1},
			Uniforms: kernel.Ints{{"count", n}}.Uniforms(), Bindings: []kernel.Binding{kernel.Packed.At(4), kernel.Workspace.At(5)},
		}}, r.Steps...)
		return r, err
	},
}

// withConvAlgorithms replaces the algorithms for a test.
func withConvAlgorithms(t *testing.T, list ...algorithm[Problem]) {
	t.Helper()
	before := convAlgorithms
	t.Cleanup(func() { convAlgorithms = before })
	convAlgorithms = list
}

// TestWeightsHaveVersions sets the same version again, which does nothing, and
// another one: jobs that were submitted keep the old weights.
func TestWeightsHaveVersions(t *testing.T) {
	withConvAlgorithms(t, packingAlgorithm)
	seed := newSeed(t)
	e, programs := newExecutor(t)
	s := planProblems[1]
	p := mustPlan(t, e, programs, s, PlanOptions{})
	old, wantOld := hostOf(t, p.first().task, seed)
	fresh, _ := hostOf(t, p.first().task, seed+50)
	fresh.Input = old.Input
	wantFresh := p.first().shape.reference(fresh)

	for i := range 3 {
		if uploaded, err := p.SetWeights(t.Context(), 7, old.Weights, old.Bias); err != nil || uploaded != (i == 0) {
			t.Fatalf("attempt %d: uploaded %v, %v", i, uploaded, err)
		}
	}
	if uploaded, err := p.SetWeights(t.Context(), 7, nil, nil); err != nil || uploaded {
		t.Errorf("the version that is there reads the slices: uploaded %v, %v", uploaded, err)
	}
	runWithWeights(t, e, p, old, wantOld)

	outputs := [2][]float32{poisoned(p.Info().Output), poisoned(p.Info().Output)}
	var pending [2]*executor.Pending
	for i, in := range []kernel.Tensors{old, fresh} {
		if uploaded, err := p.SetWeights(t.Context(), uint64(7+i), in.Weights, in.Bias); err != nil || uploaded != (i == 1) {
			t.Fatalf("version %d: uploaded %v, %v", 7+i, uploaded, err)
		}
		job, err := p.Job(in.Input, outputs[i])
		if err != nil {
			t.Fatal(err)
		}
		if pending[i], err = e.Submit(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []Expected{wantOld, wantFresh} {
		if err := pending[i].Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkOutput(t, "version", outputs[i], want, p.first().tolerance)
	}
	if _, err := p.SetWeights(t.Context(), 9, fresh.Weights[1:], fresh.Bias); err == nil || !strings.Contains(err.Error(), "weights has") {
		t.Errorf("too few weights: %v", err)
	}
	if there, err := p.has(8); err != nil || !there {
		t.Errorf("weights that do not fit replace those of before: %v, %v", there, err)
	}
}

// runWithWeights is runPlanThreeWays for a plan that has its weights.
func runWithWeights(t *testing.T, e *executor.Executor, p *Plan, in kernel.Tensors, want Expected) {
	t.Helper()
	device := deviceCopy(t, e, poisoned(p.Info().Output))
	out := poisoned(p.Info().Output)
	dispatches, err := p.Dispatches(Operands{
		Input: deviceCopy(t, e, in.Input).Memory, Output: device.Memory,
		Weights: deviceCopy(t, e, in.Weights).Memory, Bias: deviceCopy(t, e, in.Bias).Memory,
	})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, e, JobOf(dispatches...))
	if err := device.Download(t.Context(), 0, out); err != nil {
		t.Fatal(err)
	}
	checkOutput(t, "weights that come with the run", out, want, p.first().tolerance)
}

// TestPlansLeaveNothing checks that Release releases programs and memory.
func TestPlansLeaveNothing(t *testing.T) {
	withConvAlgorithms(t, packingAlgorithm)
	e, programs := newExecutor(t)
	before := e.Context().Counters().Buffers
	p := mustPlan(t, e, programs, planProblems[1], PlanOptions{})
	in, _ := hostOf(t, p.first().task, 1)
	if _, err := p.SetWeights(t.Context(), 1, in.Weights, in.Bias); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), in.Input, make([]float32, p.Info().Output)); err != nil {
		t.Fatal(err)
	}
	p.Release()
	p.Release()
	if _, err := p.SetWeights(t.Context(), 2, in.Weights, in.Bias); !errors.Is(err, errReleased) {
		t.Errorf("a plan that was released takes weights: %v", err)
	}
	if _, err := p.Job(in.Input, make([]float32, p.Info().Output)); !errors.Is(err, errReleased) {
		t.Errorf("a plan that was released makes jobs: %v", err)
	}
	if err := e.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for e.Context().Counters().Buffers != before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if after := e.Context().Counters().Buffers; after != before || programs.Stats().InUse != 0 {
		t.Errorf("%d buffers before, %d after, %d programs in use", before, after, programs.Stats().InUse)
	}
}

func TestPlansRefuse(t *testing.T) {
	e, programs := newExecutor(t)
	nine := make([]float32, 9)
	if _, err := NewPlan(t.Context(), e, programs, []Layer{{Shape: Problem{}.Shape()}}, PlanOptions{}); err == nil || !strings.Contains(err.Error(), "K is 0") {
		t.Errorf("an invalid problem: %v", err)
	}
	if _, err := NewPlan(t.Context(), e, programs, []Layer{{Shape: plain(3, 3, 3).Shape()}}, PlanOptions{Choice: &Choice{Algorithm: "nothing"}}); err == nil || !strings.Contains(err.Error(), `no algorithm "nothing"`) {
		t.Errorf("an unknown algorithm: %v", err)
	}
	p := mustPlan(t, e, programs, plain(3, 3, 3).Shape(), PlanOptions{})
	if _, err := p.Job(nine, nine); !errors.Is(err, ErrNoWeights) {
		t.Errorf("no weights: %v", err)
	}
	if _, err := p.SetWeights(t.Context(), 1, nine, nine); err == nil || !strings.Contains(err.Error(), "bias has 9") {
		t.Errorf("a bias for a problem without: %v", err)
	}
	if _, err := p.SetWeights(t.Context(), 1, nine, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Job(nine[:8], nine); err == nil || !strings.Contains(err.Error(), "input has 8") {
		t.Errorf("a short input: %v", err)
	}
	m, other, short := deviceCopy(t, e, nine).Memory, deviceCopy(t, e, nine).Memory, deviceCopy(t, e, nine[:8]).Memory
	for want, o := range map[string]Operands{
		"no memory for the input":      {Output: m},
		"no memory for the output":     {Input: m},
		"the output has 32 bytes":      {Input: m, Output: short},
		"the input is the output too":  {Input: m, Output: m},
		"for the weights has 32 bytes": {Input: other, Weights: short, Output: m},
	} {
		if _, err := p.Dispatches(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// Weights that came with the layers are not taken for those that a caller sets first.
func TestWeightsOfLayersAreReplaced(t *testing.T) {
	e, programs := newExecutor(t)
	s := GEMMProblem{M: 1, N: 4, K: 4}.Shape()
	p, err := NewPlan(t.Context(), e, programs, []Layer{{Shape: s, Weights: slices.Repeat([]float32{1}, 16)}}, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if uploaded, err := p.SetWeights(t.Context(), 1, slices.Repeat([]float32{5}, 16), nil); err != nil || !uploaded {
		t.Fatal(uploaded, err)
	}
	got := make([]float32, 4)
	if err := p.Run(t.Context(), slices.Repeat([]float32{1}, 4), got); err != nil || got[0] != 20 {
		t.Errorf("%v, %v", got, err)
	}
}
