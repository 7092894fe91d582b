//go:build linux

package conv2d

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// registerProducts have everything that a matrix product may have, in sizes that
// are even, odd and prime.
var microProducts = []GEMMProblem{
	{M: 1, N: 1, K: 1},
	{M: 17, N: 17, K: 17},
	{M: 40, N: 70, K: 34},
	{M: 16, N: 90, K: 27, Bias: RowBias, Activation: ReLU},
	{M: 1, N: 300, K: 64, Bias: ColumnBias, Activation: SiLU},
	{M: 129, N: 2, K: 10, Factors: AlphaBeta(-0.5, 2)},
	{M: 6, N: 18, K: 33, TransA: true, Factors: AlphaBeta(3, 0), Bias: ColumnBias, Activation: Tanh},
	{M: 7, N: 9, K: 18, TransB: true, Factors: AlphaBeta(1, -1), Activation: Sigmoid},
	{M: 22, N: 19, K: 21, TransA: true, TransB: true, LDA: 24, LDB: 30, LDC: 20},
	{M: 10, N: 12, K: 8, LDA: 10, LDB: 14, LDC: 16, Batch: 3, StrideA: 120, StrideC: 200, Factors: AlphaBeta(1, 0.5), Bias: RowBias},
	{M: 9, N: 12, K: 8, LDA: 8, LDB: 12, Batch: 2, StrideA: 73, StrideB: 97, StrideC: 109},
	{M: 34, N: 36, K: 7, TransA: true, Activation: ReLU},
	{M: 3, N: 4, K: 300_001, Factors: AlphaBeta(1, 2), Bias: RowBias, Activation: ReLU},
}

// microRig is a rig for kernels that keep a tile in a processor's registers, which
// are made for software drivers and have no candidates elsewhere.
func microRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	if !r.context.Info().Software() {
		t.Skip("these kernels are for drivers that run on the CPU")
	}
	return r
}

func TestGEMMMicro(t *testing.T) {
	t.Parallel()
	r := microRig(t)
	for i, p := range microProducts {
		t.Run(strings.ReplaceAll(p.String(), " ", "_"), func(t *testing.T) {
			checkGEMM(t, r, turnOf(gemmMicroAlgorithm, i, 2), p)
		})
	}
}

func TestGEMMMicroPassesNaNAndInfinityOn(t *testing.T) {
	r := microRig(t)
	for _, p := range []GEMMProblem{
		{M: 5, N: 6, K: 4, Activation: ReLU},
		{M: 5, N: 7, K: 3, Activation: SiLU}, // odd rows: what is added must stay out of the sums
	} {
		in := GEMMTensors{A: withSpecials(RandomValues(p.ALen(), 1)), B: withSpecials(RandomValues(p.BLen(), 2))}
		want := ReferenceGEMM(p, in)
		if !slices.ContainsFunc(want.Values, math.IsNaN) || !slices.ContainsFunc(want.Values, isFinite) {
			t.Fatalf("%v: the inputs test nothing: %v", p, want.Values)
		}
		checkAlgorithm(t, r, gemmMicroAlgorithm, p, kernel.Tensors{Input: in.A, Weights: in.B}, want)
	}
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func TestGEMMMicroCutsLongSums(t *testing.T) {
	const most = 2 * (maxLoopIterations - 1) // elements of K, two in an iteration
	for k, want := range map[int]int{1: 1, most: 1, most + 2: 2, 300_000: 5} {
		p := GEMMProblem{M: 2, N: 2, K: k, Factors: AlphaBeta(1, 3), Bias: RowBias}
		made := firstSequence(t, gemmMicroAlgorithm, p, softwareDevice)
		if len(made.Steps) != want {
			t.Errorf("%v: %d dispatches, want %d", p, len(made.Steps), want)
		}
		for i, s := range made.Steps {
			if last := i == len(made.Steps)-1; slices.Contains(s.Bindings, kernel.Bias.At(3)) != last {
				t.Errorf("%v: dispatch %d of %d: bias at the wrong time", p, i, len(made.Steps))
			}
		}
	}
}

// Copying pays where elements are loaded often, and what is B is copied once for
// each version of it.
func TestGEMMMicroMakesOddMatricesEven(t *testing.T) {
	for _, test := range []struct {
		p                 GEMMProblem
		packed, workspace int
	}{
		{GEMMProblem{M: 64, N: 64, K: 64}, 0, 0},
		{GEMMProblem{M: 200, N: 201, K: 64}, 64 * 202, 0},
		{GEMMProblem{M: 200, N: 200, K: 65}, 0, 200 * 66},
		{GEMMProblem{M: 200, N: 201, K: 65, Batch: 3, StrideA: 13_001, StrideC: 90_000}, 65 * 202, 3 * 200 * 66},
		{GEMMProblem{M: 1, N: 201, K: 64}, 0, 0},
	} {
		made := firstSequence(t, gemmMicroAlgorithm, test.p, softwareDevice)
		if made.PackedLen != test.packed || made.WorkspaceLen != test.workspace {
			t.Errorf("%v: %d packed and %d in the workspace, want %d and %d",
				test.p, made.PackedLen, made.WorkspaceLen, test.packed, test.workspace)
		}
		if (len(made.Prepare) > 0) != (test.packed > 0) || len(made.Steps) != 1+min(1, test.workspace) {
			t.Errorf("%v: %d and %d dispatches", test.p, len(made.Prepare), len(made.Steps))
		}
	}
}

func TestGEMMMicroRefusesOtherParameters(t *testing.T) {
	p := GEMMProblem{M: 8, N: 8, K: 8}
	for want, params := range map[string]Params{
		"takes conv2d.MicroParams, not conv2d.BlockParams": BlockParams{BM: 64},
		"from 1 to 32":          MicroParams{Rows: 33, Columns: 2, LanesM: 1},
		"do not divide 8 lanes": MicroParams{Rows: 1, Columns: 2, LanesM: 3},
		"needs an even number":  MicroParams{Rows: 1, Columns: 3, LanesM: 1},
		"a tile of 0x2":         MicroParams{Rows: 0, Columns: 2, LanesM: 1},
		"0 rows of lanes":       MicroParams{Rows: 1, Columns: 2, LanesM: 0},
		"columns is -2":         MicroParams{Rows: 1, Columns: -2, LanesM: 1},
	} {
		_, err := gemmMicroAlgorithm.sequence(p, params, softwareDevice)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error is %v, want %q", params, err, want)
		}
	}
	huge := GEMMProblem{M: 8, N: 2, K: 1, Batch: 70_000, StrideC: 16}
	_, err := gemmMicroAlgorithm.sequence(huge, MicroParams{Rows: 1, Columns: 2, LanesM: 1}, softwareDevice)
	if err == nil || !strings.Contains(err.Error(), "split the problem") {
		t.Errorf("error is %v", err)
	}
	if n := len(gemmMicroAlgorithm.candidates(huge, softwareDevice)); n != 0 {
		t.Errorf("%d candidates for a grid that is too large", n)
	}
}

func TestMicroKernelsAreForSoftware(t *testing.T) {
	if c := gemmMicroAlgorithm.candidates(GEMMProblem{M: 8, N: 8, K: 8}, device{}); c != nil {
		t.Errorf("candidates on a GPU: %v", c)
	}
	if c := convMicroAlgorithm.candidates(Problem{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1}, device{}); c != nil {
		t.Errorf("candidates on a GPU: %v", c)
	}
}

func TestSIMDWidthOfAGPU(t *testing.T) {
	for gpu, want := range map[string][2]int{
		"llvmpipe (LLVM 15.0.6, 256 bits)": {256, 8},
		"llvmpipe (LLVM 15.0.6, 128 bits)": {128, 4},
		"llvmpipe (LLVM 19.1.7, 512 bits)": {512, 16},
		"softpipe":                         {0, 8},
		"strange (96 bits)":                {96, 8},
	} {
		bits := simdBitsOf(gpu)
		if lanes := (device{simdBits: bits}).simdLanes(); bits != want[0] || lanes != want[1] {
			t.Errorf("%s: %d bits, %d lanes, want %v", gpu, bits, lanes, want)
		}
	}
}

// Groups of other CPUs have other shapes, which must be right on this one too.
func TestMicroKernelsWithOtherRegisters(t *testing.T) {
	t.Parallel()
	r := microRig(t)
	gemm := GEMMProblem{M: 9, N: 21, K: 13}
	product := kernel.Tensors{Input: RandomValues(gemm.ALen(), 1), Weights: RandomValues(gemm.BLen(), 2)}
	conv := Problem{N: 2, C: 3, H: 5, W: 6, K: 7, R: 3, S: 3, PadH: 1, PadW: 1}
	image := kernel.Tensors{Input: RandomValues(conv.InputLen(), 1), Weights: RandomValues(conv.WeightsLen(), 2)}
	for _, bits := range []int{128, 512} {
		on := softwareDevice
		on.simdBits = bits
		checkFirst(t, r, gemmMicroAlgorithm, gemm, on, product,
			ReferenceGEMM(gemm, GEMMTensors{A: product.Input, B: product.Weights}))
		checkFirst(t, r, convMicroAlgorithm, conv, on, image,
			ReferenceConv2D(conv, image.Input, image.Weights, nil))
	}
}

// checkFirst computes a problem by the first candidate for a device.
func checkFirst[P problem](t *testing.T, r *rig, a algorithm[P], p P, on device, in kernel.Tensors, want Expected) {
	t.Helper()
	report, err := r.run(t, firstSequence(t, a, p, on), in, want, a.tolerance(p))
	if err != nil {
		t.Fatalf("%s with %d bits: %v", a.name, on.simdBits, err)
	}
	if !report.OK() {
		t.Errorf("%s with %d bits: %v", a.name, on.simdBits, report)
	}
}

// softwareDevice is llvmpipe as most CPUs have it.
var softwareDevice = device{software: true, simdBits: 256, cpus: 2, maxGroups: [3]int32{65_535, 65_535, 65_535}}

// firstSequence is the sequence of the first candidate for a device.
func firstSequence[P problem](t *testing.T, a algorithm[P], p P, on device) kernel.Sequence {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	candidates := a.candidates(p, on)
	if len(candidates) == 0 {
		t.Fatalf("no candidate for %v", p)
	}
	made, err := a.sequence(p, candidates[0], on)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
