//go:build linux

package conv2d

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// hostRig is a rig for algorithms that the host computes.
func hostRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	skipWithoutHost(t, r.context.Info())
	return r
}

func skipWithoutHost(t *testing.T, info glctx.Info) {
	t.Helper()
	if !deviceOf(info).host {
		t.Skip("the host cannot compute in the memory of this GPU, or has no AVX2 and FMA")
	}
}

// cpuProducts are products that are computed on several processors, and in batches.
var cpuProducts = []GEMMProblem{
	{M: 70, N: 130, K: 40, LDA: 41, LDB: 133, LDC: 137, Factors: AlphaBeta(2, 0.5), Bias: ColumnBias, Activation: ReLU},
	{M: 2, N: 1040, K: 130, TransA: true, LDC: 1050, Bias: RowBias, Activation: Tanh},
	{M: 3, N: 65, K: 70, TransB: true, Batch: 3, StrideA: 210, StrideB: 4550, StrideC: 195, Factors: AlphaBeta(-1, 0)},
	{M: 64, N: 64, K: 64, Batch: 2, StrideA: 0, StrideB: 4096, StrideC: 4097, Factors: AlphaBeta(1, -2), Activation: SiLU},
}

func TestGEMMOnCPU(t *testing.T) {
	r := hostRig(t)
	for _, p := range slices.Concat(microProducts, cpuProducts) {
		t.Run(strings.ReplaceAll(p.String(), " ", "_"), func(t *testing.T) { checkGEMM(t, r, gemmCPUAlgorithm, p) })
	}
}

func TestConvOnCPU(t *testing.T) {
	r := hostRig(t)
	for _, p := range []Problem{
		{N: 1, C: 9, H: 5, W: 7, K: 3, R: 1, S: 1},
		{N: 3, C: 20, H: 11, W: 3, K: 33, R: 1, S: 1, Bias: true, Activation: ReLU},
	} {
		checkConv(t, r, convCPUAlgorithm, p)
	}
	for _, p := range []Problem{
		{N: 1, C: 4, H: 5, W: 7, K: 4, R: 3, S: 3}, {N: 1, C: 4, H: 5, W: 7, K: 4, R: 1, S: 1, PadH: 1},
		{N: 1, C: 4, H: 6, W: 6, K: 4, R: 1, S: 1, StrideW: 2}, {N: 1, C: 4, H: 6, W: 6, K: 4, R: 1, S: 1, Groups: 2},
	} {
		on := deviceOf(r.context.Info())
		if _, err := convCPUAlgorithm.sequence(p, CPUParams{}, on); err == nil || len(convCPUAlgorithm.candidates(p, on)) != 0 {
			t.Errorf("%v is computed as a product", p)
		}
	}
}

// TestGEMMOnCPUPassesSpecialValues has zeros times infinity, which libraries that leave out
// zeros lose.
func TestGEMMOnCPUPassesSpecialValues(t *testing.T) {
	r := hostRig(t)
	for _, p := range []GEMMProblem{{M: 2, N: 20, K: 9, Activation: ReLU}, {M: 9, N: 20, K: 9, Bias: RowBias, Activation: SiLU}} {
		in := GEMMTensors{A: withSpecials(RandomValues(p.ALen(), 1)), B: withSpecials(RandomValues(p.BLen(), 2)), Bias: RandomValues(p.BiasLen(), 3)}
		clear(in.A[(p.M-1)*p.K:]) // the last row
		want := ReferenceGEMM(p, in)
		if !slices.ContainsFunc(want.Values[(p.M-1)*p.N:], math.IsNaN) || !slices.ContainsFunc(want.Values, isFinite) {
			t.Fatalf("%v: the inputs test nothing: %v", p, want.Values)
		}
		checkAlgorithm(t, r, gemmCPUAlgorithm, p, kernel.Tensors{Input: in.A, Weights: in.B, Bias: in.Bias}, want)
	}
}

// TestGEMMOnCPUOfZeroFactors is TestFactorsOfZero for gemm_cpu.
func TestGEMMOnCPUOfZeroFactors(t *testing.T) {
	r := hostRig(t)
	for _, c := range factorCases {
		p := GEMMProblem{M: 13, N: 20, K: 10, Factors: c.factors, Bias: ColumnBias, Activation: Tanh}
		checkFactors(t, r, Choice{"gemm_cpu", CPUParams{}}, p, c)
	}
}

// TestPlansChooseTheCPU is that a plan takes the CPU by itself where the driver runs on it,
// unless that is ruled out, and nowhere else.
func TestPlansChooseTheCPU(t *testing.T) {
	r := hostRig(t)
	info := r.context.Info()
	for word, algorithm := range map[string]string{
		"gemm:129x129x129": "gemm_cpu", "gemm:16x900x27": "gemm_cpu", "gemm:1x4096x4096": "gemm_cpu", // of the table
		"gemm:33x20x70,ta,row-bias,relu": "gemm_cpu", "conv2d:1x70x19x3-20,1x1": "conv2d_cpu", // by ranking
	} {
		s := mustShape(t, word)
		choice, basis, err := Choose(t.Context(), r.context, nil, s, PlanOptions{})
		if err != nil || choice.String() != algorithm {
			t.Errorf("%s: %v because of %s, %v", word, choice, basis, err)
		}
		choice, basis, err = Choose(t.Context(), r.context, nil, s, PlanOptions{NoCPU: true})
		if err != nil || isOnCPU(choice.Algorithm) {
			t.Errorf("%s without the CPU: %v because of %s, %v", word, choice, basis, err)
		}
		space, err := NewSearchSpace(s, info, Restriction{NoCPU: true})
		if err != nil || slices.ContainsFunc(space.Choices(), func(c Choice) bool { return isOnCPU(c.Algorithm) }) {
			t.Errorf("%s: a search without the CPU has %v, %v", word, space.Choices(), err)
		}
		hardware := info
		hardware.GPU = "NVIDIA H200"
		there, err := newTask(s, hardware)
		if err != nil {
			t.Fatal(err)
		}
		if there.builds(Choice{algorithm, CPUParams{}}) || slices.ContainsFunc(there.choices(), func(c Choice) bool { return isOnCPU(c.Algorithm) }) {
			t.Errorf("%s: a GPU has %s", word, algorithm)
		}
	}
}

// TestKernelsOfExponentialsComeFirst is that short sums with an activation that is slow on
// the CPU are left to kernels, and that a search tries the CPU too.
func TestKernelsOfExponentialsComeFirst(t *testing.T) {
	r := hostRig(t)
	for word, algorithm := range map[string]string{
		"gemm:90x70x65,silu": "gemm_register", "gemm:2x70x383,tanh": "gemm_register", "gemm:1x70x65,silu": "gemm_cpu",
		"gemm:90x70x384,silu": "gemm_cpu", "gemm:90x70x65,relu": "gemm_cpu",
		"conv2d:1x70x19x3-20,1x1,silu": "conv2d_register", "conv2d:1x400x19x3-20,1x1,silu": "conv2d_cpu",
	} {
		k, err := newTask(mustShape(t, word), r.context.Info())
		if err != nil {
			t.Fatal(err)
		}
		choice, err := k.likeliest()
		if err != nil || choice.Algorithm != algorithm {
			t.Errorf("%s: %v, %v, not %s", word, choice, err, algorithm)
		}
		if !slices.ContainsFunc(k.choices(), func(c Choice) bool { return isOnCPU(c.Algorithm) }) {
			t.Errorf("%s: a search has no algorithm of the CPU", word)
		}
	}
}

// TestTuningsWithoutTheCPU is that a search without the CPU is kept apart, and that a plan
// without it takes no result that needs it.
func TestTuningsWithoutTheCPU(t *testing.T) {
	r := hostRig(t)
	s := mustShape(t, "gemm:64x64x64")
	micro := Choice{"gemm_register", MicroParams{Rows: 8, Columns: 8, LanesM: 2}}
	keep := func(key string, c Choice) {
		t.Helper()
		choice, err := json.Marshal(c)
		if err == nil {
			err = r.cache.Tunings().PutTuning(binary.Tuning{Problem: key, Choice: choice})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(o PlanOptions, algorithm string, basis Basis) {
		t.Helper()
		got, because, err := Choose(t.Context(), r.context, r.cache, s, o)
		if err != nil || got.Algorithm != algorithm || because != basis {
			t.Errorf("%+v: %v because of %s, %v; want %s because of %s", o, got, because, err, algorithm, basis)
		}
	}
	keep(TuningKey(s, Restriction{}), Choice{"gemm_cpu", CPUParams{}})
	want(PlanOptions{}, "gemm_cpu", ByTuning)
	want(PlanOptions{NoCPU: true}, "gemm_register", ByRanking)

	// What was found without an activation is not taken for one that is slow on the CPU.
	s = mustShape(t, "gemm:64x64x64,silu")
	want(PlanOptions{}, "gemm_register", ByRanking)
	keep(s.String(), Choice{"gemm_cpu", CPUParams{}})
	want(PlanOptions{}, "gemm_cpu", ByTuning)
	s = mustShape(t, "gemm:129x129x129,silu")
	want(PlanOptions{}, "gemm_register", ByRanking) // the table has it without
	s = mustShape(t, "gemm:64x64x64")
	keep("gemm:64x64x64,no-cpu", micro)
	want(PlanOptions{NoCPU: true}, "gemm_register", ByTuning)
	want(PlanOptions{NoCPU: true, Exact: true}, "gemm_register", ByTuning)
	want(PlanOptions{}, "gemm_cpu", ByTuning)
	if err := CheckTuning(binary.Tuning{Problem: TuningKey(s, Restriction{Exact: true, NoCPU: true}), Choice: []byte(`{"algorithm":"gemm_cpu","params":{}}`)}); err != nil {
		t.Error(err)
	}
}

// TestNetworkOnCPUAndGPU has jobs in flight whose layers are computed by kernels and by the
// host in turn, in the same memory.
func TestNetworkOnCPUAndGPU(t *testing.T) {
	e, programs := newExecutor(t)
	skipWithoutHost(t, e.Context().Info())
	register := &Choice{"gemm_register", MicroParams{Rows: 4, Columns: 4, LanesM: 1}}
	layers := []Layer{
		{Shape: mustShape(t, "conv2d:2x3x8x9-5,3x3,p1,bias,relu"), Choice: &Choice{"direct", DirectParams{Local: directLocal}}},
		{Shape: mustShape(t, "conv2d:2x5x8x9-4,1x1,bias,relu")},
		{Shape: mustShape(t, "gemm:2x30x288,row-bias,sigmoid"), Choice: register},
		{Shape: mustShape(t, "gemm:2x17x30,column-bias")},
		{Shape: mustShape(t, "gemm:2x6x17"), Choice: register},
	}
	for i := range layers {
		k, err := newTask(layers[i].Shape, e.Context().Info())
		if err != nil {
			t.Fatal(err)
		}
		layers[i].Name = layers[i].Shape.String()
		layers[i].Weights, layers[i].Bias = RandomValues(k.weights, uint64(i)), RandomValues(k.bias, uint64(i)+9)
		if k.bias == 0 {
			layers[i].Bias = nil
		}
	}
	n, err := NewPlan(t.Context(), e, programs, layers, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Release()
	for i, want := range []string{"direct", "conv2d_cpu", "gemm_register", "gemm_cpu", "gemm_register"} {
		if got := n.parts[i].choice.Algorithm; got != want {
			t.Errorf("layer %d: %s, not %s", i, got, want)
		}
	}
	var inputs, outputs [6][]float32
	var pending [6]*executor.Pending
	for i := range pending {
		inputs[i], outputs[i] = RandomValues(n.Info().Input, uint64(100+i)), poisoned(n.Info().Output)
		job, err := n.Job(inputs[i], outputs[i])
		if err != nil {
			t.Fatal(err)
		}
		if pending[i], err = e.Submit(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range pending {
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkOutput(t, "job", outputs[i], n.Reference(inputs[i]), 1)
	}
}
