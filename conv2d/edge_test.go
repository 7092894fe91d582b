//go:build linux

package conv2d

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// edgeProducts are what users meet at the edges. In all of them A, B and C have NaN in
// the gaps that nothing may read, and C has NaN where there is no beta.
var edgeProducts = []GEMMProblem{
	{M: 1, N: 12, K: 9},
	{M: 13, N: 1, K: 8},
	{M: 6, N: 8, K: 1},
	{M: 3, N: 8, K: 6, LDA: 9, LDB: 12, LDC: 11},
	{M: 5, N: 7, K: 3, TransA: true, TransB: true, LDA: 6, LDB: 5, LDC: 8, Factors: AlphaBeta(1, 1)},
	{M: 4, N: 4, K: 4, Batch: 3, StrideA: 19, StrideB: 17, StrideC: 18},
}

// onEveryDevice calls check for the likeliest candidate of every algorithm, those for
// GPUs too.
func onEveryDevice[P any](t *testing.T, r *rig, algorithms []algorithm[P], p P, check func(a algorithm[P])) {
	t.Helper()
	ran := 0
	for _, a := range algorithms {
		candidates := a.candidates
		a.candidates = func(p P, on device) []Params {
			list := candidates(p, on)
			if len(list) == 0 {
				on.software = !on.software
				list = candidates(p, on)
			}
			return list[:min(1, len(list))]
		}
		if len(a.candidates(p, deviceOf(r.context.Info()))) > 0 {
			ran++
			check(a)
		}
	}
	if ran < 2 {
		t.Errorf("%v: %d algorithms", p, ran)
	}
}

// withNaNGaps puts NaN between the rows of a matrix, and between matrices.
func withNaNGaps(s stored, values []float32) []float32 {
	gaps := filled(len(values), float32(math.NaN()))
	for b := range s.batch {
		for row := range s.rows {
			at := b*s.stride + row*s.ld
			copy(gaps[at:at+s.columns], values[at:])
		}
	}
	return gaps
}

func TestGEMMAtTheEdges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, p := range edgeProducts {
		in := GEMMTensors{
			A: withNaNGaps(p.a(), RandomValues(p.ALen(), 1)), B: withNaNGaps(p.b(), RandomValues(p.BLen(), 2)),
			C: filled(p.CLen(), float32(math.NaN())),
		}
		if p.beta() != 0 {
			in.C = withNaNGaps(p.c(), RandomValues(p.CLen(), 3))
		}
		want := ReferenceGEMM(p, in)
		if n := count(want.Values, isFinite); n != orOne(p.Batch)*p.M*p.N {
			t.Fatalf("%v: %d finite elements are expected", p, n)
		}
		onEveryDevice(t, r, gemmAlgorithms, p, func(a algorithm[GEMMProblem]) {
			checkAlgorithm(t, r, a, p, kernel.Tensors{Input: in.A, Weights: in.B, Output: in.C}, want)
		})
	}
}

// edgeConvolutions are likewise convolutions.
var edgeConvolutions = []Problem{
	{N: 1, C: 6, H: 7, W: 8, K: 6, R: 3, S: 3, Groups: 6, PadH: 1, PadW: 1},                 // groups = channels
	{N: 2, C: 3, H: 5, W: 6, K: 2, R: 5, S: 6},                                              // the filter is the input
	{N: 1, C: 2, H: 3, W: 3, K: 2, R: 7, S: 5, PadH: 2, PadW: 1},                            // the filter is larger
	{N: 1, C: 2, H: 9, W: 9, K: 3, R: 3, S: 3, DilationH: 4, DilationW: 4},                  // dilated to the input
	{N: 1, C: 4, H: 6, W: 5, K: 4, R: 2, S: 2, StrideH: 9, StrideW: 9, PadH: 1, Bias: true}, // one pixel
}

func TestConvolutionsAtTheEdges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, p := range edgeConvolutions {
		onEveryDevice(t, r, convAlgorithms, p, func(a algorithm[Problem]) { checkConv(t, r, a, p) })
	}
}

// TestZeroValuesOfProducts compares zero fields with their defaults.
func TestZeroValuesOfProducts(t *testing.T) {
	r := newRunner(t)
	p := GEMMProblem{M: 3, N: 4, K: 2}
	in := GEMMTensors{A: RandomValues(6, 1), B: RandomValues(8, 2)}
	got, err := r.GEMM(t.Context(), p, in)
	if err != nil {
		t.Fatal(err)
	}
	same := GEMMProblem{M: 3, N: 4, K: 2, Factors: AlphaBeta(1, 0), Batch: 1, LDA: 2, LDB: 4, LDC: 4, StrideA: 99}
	again, err := r.GEMM(t.Context(), same, in)
	if err != nil || !slices.Equal(got, again) || p.Shape().String() != same.Shape().String() {
		t.Errorf("%v and %v differ: %v, %v, %v", p.Shape(), same.Shape(), got, again, err)
	}
	// Without factors alpha is 1, so that NaN in A reaches its row and no other.
	in.A[2] = float32(math.NaN())
	got, err = r.GEMM(t.Context(), p, in)
	if err != nil {
		t.Fatal(err)
	}
	checkOutput(t, "NaN in A", got, ReferenceGEMM(p, in), Tolerance(p.K))
	if n := len(got) - len(slices.DeleteFunc(slices.Clone(got), func(v float32) bool { return v != v })); n != p.N {
		t.Errorf("%d elements are NaN", n)
	}
}

// Impossible problems are errors that name every fault, and nothing is computed.
func TestImpossibleProblems(t *testing.T) {
	huge := math.MaxInt32
	for _, test := range []struct {
		shape Shape
		want  []string
	}{
		{GEMMProblem{M: 2, N: 2}.Shape(), []string{"K is 0, must be at least 1"}},
		{GEMMProblem{M: 2, N: 2, K: 2, Batch: -1}.Shape(), []string{"Batch is -1"}},
		{GEMMProblem{M: 2, N: 3, K: 4, LDA: 3, LDB: 2, LDC: 1}.Shape(), []string{
			"LDA is 3, but the rows of A have 4", "LDB is 2, but the rows of B have 3", "LDC is 1, but the rows of C have 3",
		}},
		{GEMMProblem{M: 4, N: 5, K: 6, Batch: 3, StrideA: 24, StrideB: 30}.Shape(), []string{"StrideC is 0", "at least 20"}},
		{GEMMProblem{M: huge, N: huge, K: huge}.Shape(), []string{"A has more than", "B has more than", "C has more than"}},
		{GEMMProblem{M: 1, N: 1, K: 1, Factors: AlphaBeta(float32(math.Inf(1)), float32(math.NaN()))}.Shape(), []string{"Alpha is +Inf", "Beta is NaN"}},
		{Problem{N: 1, C: 3, H: 4, W: 4, K: 2, R: 5, S: 6, Groups: 2, Activation: -1}.Shape(), []string{
			"C is 3, not divisible by 2 groups", "spans 5 along H, but the padded input has 4", "spans 6 along W", "no Activation(-1)",
		}},
		{Problem{N: 1, C: 1, H: 9, W: 9, K: 1, R: 3, S: 3, DilationH: 5}.Shape(), []string{"the filter spans 11 along H"}},
		{Problem{N: huge, C: huge, H: 1, W: 1, K: huge, R: 1, S: 1}.Shape(), []string{"input [", "weights [", "output ["}},
		{Shape{}, []string{"one problem, of one kind"}},
	} {
		err := test.shape.Validate()
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not say %q", err, want)
			}
		}
	}
}
