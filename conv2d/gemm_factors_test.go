//go:build linux

package conv2d

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// factorCase has factors that are 0, and the matrices with NaN.
type factorCase struct {
	factors  Factors
	nanAB    bool // in A and B, which must not be read
	nanC     bool // in C, which must not be read
	epilogue bool // with bias and activation
}

var factorCases = []factorCase{
	{factors: AlphaBeta(0, -0.5), nanAB: true, epilogue: true},
	{factors: AlphaBeta(0, 0), nanAB: true, nanC: true, epilogue: true},
	{factors: AlphaBeta(-1.5, 0), nanC: true, epilogue: true},
}

// factorKernels has every kernel of a matrix product, in forms that pack, split and
// fuse, with a problem that it can compute.
var factorKernels = []struct {
	choice Choice
	sizes  GEMMProblem
	plain  bool // computes act(alpha * A*B) only
}{
	{Choice{"gemm_register", MicroParams{Rows: 4, Columns: 4, LanesM: 1}}, GEMMProblem{M: 13, N: 20, K: 10}, false},
	{Choice{"gemm_register", MicroParams{Rows: 3, Columns: 2, LanesM: 2}}, GEMMProblem{M: 70, N: 71, K: 9, TransA: true}, false},
	{Choice{"gemm_row", SkinnyParams{Lanes: 8, Slices: 4, Split: 1, Fused: 1}}, GEMMProblem{M: 3, N: 40, K: 50}, false},
	{Choice{"gemm_row", SkinnyParams{Lanes: 8, Slices: 4, Split: 3, Fused: 2}}, GEMMProblem{M: 2, N: 36, K: 50}, false},
	{Choice{"gemm_row", SkinnyParams{Lanes: 8, Slices: 2, Split: 2}}, GEMMProblem{M: 1, N: 36, K: 50}, false},
	{Choice{"gemm_block", block(16, 16, 4, 4, 4, 2, 1)}, GEMMProblem{M: 16, N: 32, K: 8}, false},
	{Choice{"gemm_block", with(block(16, 16, 4, 4, 4, 1, 1), "split", 4, "fused", 2, "pack_a", 1, "pack_b", 1)}, GEMMProblem{M: 17, N: 19, K: 33}, false},
	{Choice{"gemm_block", with(block(16, 16, 8, 8, 8, 1, 4), "split", 2)}, GEMMProblem{M: 16, N: 16, K: 40, Batch: 2, StrideA: 640, StrideC: 260}, false},
	{Choice{"gemm_tiled", tile32}, GEMMProblem{M: 33, N: 34, K: 17}, true},
}

// TestFactorsOfZero computes products with an alpha and a beta of 0 by every kernel:
// what the factors leave out is not read, so that NaN there does not reach C.
func TestFactorsOfZero(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, k := range factorKernels {
		if k.choice.Algorithm == "gemm_register" && !r.context.Info().Software() {
			continue // a micro-kernel of the CPU, which NVIDIA's compiler refuses in part
		}
		for _, c := range inTurn(factorCases, i, 2) { // neighbours are forms of one kernel
			p := k.sizes
			p.Factors = c.factors
			if k.plain && c.factors.Beta() != 0 {
				continue
			}
			if c.epilogue {
				p.Activation = Tanh
				if !k.plain {
					p.Bias = ColumnBias
				}
			}
			t.Run(fmt.Sprintf("%v_%v", k.choice.Algorithm, p.Shape()), func(t *testing.T) { checkFactors(t, r, k.choice, p, c) })
		}
	}
}

func checkFactors(t *testing.T, r *rig, choice Choice, p GEMMProblem, c factorCase) {
	t.Helper()
	task, err := newTask(p.Shape(), r.context.Info())
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	in := task.randomTensors(newSeed(t))
	if p.beta() != 0 {
		in.Output = RandomValues(p.CLen(), 9)
	}
	if c.nanAB {
		in.Input, in.Weights = filled(p.ALen(), nan), filled(p.BLen(), nan)
	}
	if c.nanC {
		in.Output = filled(p.CLen(), nan)
	}
	want := task.shape.reference(in)
	if n := count(want.Values, isFinite); n < orOne(p.Batch)*p.M*p.N {
		t.Fatalf("%d finite elements are expected", n)
	}
	sequence, tolerance, err := task.build(choice)
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.run(t, sequence, in, want, tolerance)
	if err != nil || !report.OK() {
		t.Errorf("%v: %v, %v", choice, report, err)
	}
	if c.nanAB && (sequence.Prepare != nil || sequence.Uses(kernel.Packed)) {
		t.Errorf("%v copies matrices that are not read", choice)
	}
}

// TestRunnerTakesFactorsOfZero computes through plans, with their checks.
func TestRunnerTakesFactorsOfZero(t *testing.T) {
	r := newRunner(t)
	nan := float32(math.NaN())
	bad := []float32{nan, nan, nan, nan}
	for _, test := range []struct {
		p    GEMMProblem
		c    []float32
		want []float32
	}{
		{GEMMProblem{M: 2, N: 2, K: 2, Factors: AlphaBeta(0, 2)}, []float32{1, 2, 3, 4}, []float32{2, 4, 6, 8}},
		{GEMMProblem{M: 2, N: 2, K: 2, Factors: AlphaBeta(0, 0)}, bad, []float32{0, 0, 0, 0}},
		{GEMMProblem{M: 2, N: 2, K: 2, Factors: AlphaBeta(0, 0)}, nil, []float32{0, 0, 0, 0}},
	} {
		got, err := r.GEMM(t.Context(), test.p, GEMMTensors{A: bad, B: bad, C: test.c})
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, %v", test.p, got, err)
		}
	}
}

func TestFactors(t *testing.T) {
	if f := (Factors{}); f.Alpha() != 1 || f.Beta() != 0 || f != AlphaBeta(1, 0) {
		t.Errorf("the zero factors are %v and %v", f.Alpha(), f.Beta())
	}
	if f := AlphaBeta(0, 3); f.Alpha() != 0 || f.Beta() != 3 || f == (Factors{}) {
		t.Errorf("0 and 3 are %v and %v", f.Alpha(), f.Beta())
	}
	for text, want := range map[string]Factors{
		"gemm:1x2x3": {}, "gemm:1x2x3,alpha1,beta0": {}, "gemm:1x2x3,alpha0": AlphaBeta(0, 0),
		"gemm:1x2x3,beta0.5": AlphaBeta(1, 0.5), "gemm:1x2x3,beta2,alpha0": AlphaBeta(0, 2),
	} {
		s := mustShape(t, text)
		if s.GEMM.Factors != want {
			t.Errorf("%s has the factors %+v", text, s.GEMM.Factors)
		}
		if again := mustShape(t, s.String()); again.GEMM.Factors != want {
			t.Errorf("%s is written as %s", text, s)
		}
	}
}
