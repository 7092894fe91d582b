//go:build linux

package conv2d

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// onHardware is an algorithm that takes the GPU for a real one, with the first n
// candidates, all of them where n is 0. Software drivers compute the same, slowly.
func onHardware(a algorithm[Problem], n int) algorithm[Problem] {
	candidates := a.candidates
	a.candidates = func(p Problem, on device) []Params {
		on.software = false
		params := candidates(p, on)
		if n > 0 {
			params = params[:min(n, len(params))]
		}
		return params
	}
	return a
}

// withParams is an algorithm with one candidate.
func withParams(a algorithm[Problem], params Params) algorithm[Problem] {
	a.candidates = func(Problem, device) []Params { return []Params{params} }
	return a
}

// hardware is a large GPU.
var hardware = device{
	sharedBytes: 48 << 10, maxInvocations: 1024,
	maxGroups: [3]int32{math.MaxInt32, 65535, 65535},
}

// oddProblems are what kernels get wrong first.
var oddProblems = []Problem{
	{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1},
	{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1, PadH: 2, PadW: 3, Bias: true},
	{N: 2, C: 3, H: 7, W: 5, K: 5, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: ReLU},
	{N: 1, C: 5, H: 6, W: 7, K: 3, R: 3, S: 2, PadH: 4, PadW: 5, Activation: Tanh},
	{N: 3, C: 2, H: 11, W: 13, K: 7, R: 2, S: 3, StrideH: 4, StrideW: 5, Bias: true, Activation: SiLU},
	{N: 1, C: 17, H: 8, W: 9, K: 34, R: 3, S: 3, DilationH: 2, DilationW: 3, PadH: 2, Activation: Sigmoid},
	{N: 2, C: 6, H: 9, W: 8, K: 9, R: 3, S: 3, Groups: 3, PadH: 1, PadW: 1, Bias: true},
	{N: 1, C: 3, H: 23, W: 19, K: 37, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3},
	{N: 3, C: 37, H: 7, W: 7, K: 41, R: 1, S: 1, Bias: true, Activation: ReLU},
	{N: 2, C: 19, H: 6, W: 10, K: 33, R: 1, S: 1, Bias: true, Activation: Tanh},
	{N: 2, C: 12, H: 8, W: 8, K: 8, R: 1, S: 1, Groups: 4},
	{N: 1, C: 4, H: 17, W: 16, K: 2, R: 15, S: 15, PadH: 7, PadW: 7},
}

func TestImplicitOnOddProblems(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	small := ImplicitParams{BM: 32, BN: 16, BK: 4, TM: 4, TN: 4, Split: 1, Slices: 1, Buffers: 2, TapsFirst: 1, Clamp: 1}
	for i, p := range oddProblems {
		if i%4 == 2 || os.Getenv("SHADERCACHE_SOAK") != "" { // takes longer to compile
			checkConv(t, r, onHardware(implicitAlgorithm, 1), p)
		} else {
			checkConv(t, r, withParams(implicitAlgorithm, small), p)
		}
	}
}

// testTiles are tiles of every kind, for a problem that none of them divides. The even
// ones have each value of most parameters.
var testTiles = []ImplicitParams{
	{BM: 128, BN: 128, BK: 8, TM: 8, TN: 8, Split: 1, Slices: 1, Buffers: 2, TapsFirst: 1, Clamp: 1},
	{BM: 64, BN: 64, BK: 16, TM: 8, TN: 4, Split: 2, Slices: 1, Buffers: 1, TapsFirst: 0, Clamp: 1},
	{BM: 64, BN: 24, BK: 16, TM: 4, TN: 4, Split: 1, Slices: 2, Buffers: 1, TapsFirst: 1, Gather: 1},
	{BM: 128, BN: 16, BK: 8, TM: 4, TN: 4, Split: 1, Slices: 2, Buffers: 1, TapsFirst: 1, Clamp: 1},
	{BM: 64, BN: 96, BK: 8, TM: 4, TN: 8, Split: 1, Slices: 1, Buffers: 1, TapsFirst: 0, Clamp: 1},
	{BM: 64, BN: 8, BK: 16, TM: 8, TN: 4, Split: 1, Slices: 4, Buffers: 2, TapsFirst: 0, Clamp: 1},
	{BM: 32, BN: 56, BK: 32, TM: 8, TN: 4, Split: 3, Slices: 4, Buffers: 2, TapsFirst: 1},
	{BM: 32, BN: 48, BK: 8, TM: 8, TN: 8, Split: 4, Slices: 2, Buffers: 2, TapsFirst: 0, Clamp: 1},
}

func TestImplicitTiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	odd := Problem{N: 2, C: 35, H: 7, W: 9, K: 67, R: 2, S: 2, PadH: 1, Bias: true, Activation: ReLU}
	for _, tile := range inTurn(testTiles, 0, 2) {
		checkConv(t, r, withParams(implicitAlgorithm, tile), odd)
	}
	whole := Problem{N: 1, C: 64, H: 8, W: 8, K: 64, R: 1, S: 1, Bias: true, Activation: SiLU}
	checkConv(t, r, onHardware(implicitAlgorithm, 2), whole)
	whole.R, whole.S, whole.PadH, whole.PadW = 3, 3, 1, 1
	checkConv(t, r, onHardware(implicitAlgorithm, 2), whole)
}

// TestImplicitAddsPartsInOneDispatch has the last group of a tile add the parts of its
// sums, in slices too, and twice with the same semaphores.
func TestImplicitAddsPartsInOneDispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tiles := []ImplicitParams{
		{BM: 32, BN: 16, BK: 4, TM: 4, TN: 4, Split: 3, Fused: 1, Slices: 1, Buffers: 2, TapsFirst: 1, Clamp: 1},
		{BM: 32, BN: 24, BK: 16, TM: 8, TN: 4, Split: 2, Fused: 1, Slices: 4, Buffers: 1, TapsFirst: 0, Clamp: 1},
		{BM: 64, BN: 16, BK: 8, TM: 8, TN: 8, Split: 4, Fused: 1, Slices: 2, Buffers: 1, TapsFirst: 1},
	}
	problems := []Problem{
		{N: 2, C: 35, H: 7, W: 9, K: 67, R: 2, S: 2, PadH: 1, Bias: true, Activation: ReLU},
		{N: 2, C: 58, H: 6, W: 6, K: 33, R: 1, S: 1, Bias: true, Activation: Tanh},
		{N: 3, C: 66, H: 5, W: 7, K: 10, R: 3, S: 3, Groups: 2, PadH: 1, PadW: 1},
	}
	for i, p := range problems {
		for _, tile := range inTurn(tiles, i, len(problems)) {
			checkConv(t, r, withParams(implicitAlgorithm, tile), p)
		}
	}
}

// TestFewPartsAreAddedInOneDispatch has candidates of both kinds for a convolution of few
// tiles, and none in one dispatch where a second one was faster.
func TestFewPartsAreAddedInOneDispatch(t *testing.T) {
	fused, others := 0, 0
	for _, p := range resnetProblems() {
		for _, tile := range implicitCandidates(p, hardware) {
			switch {
			case tile.Fused == 0 && tile.Split > 1:
				others++
			case tile.Fused == 1:
				fused++
				if tile.Split > maxFusedParts || tile.Slices != 4 {
					t.Errorf("%v: %v in one dispatch", p, tile)
				}
			}
		}
	}
	if fused == 0 || others == 0 {
		t.Errorf("%d candidates add parts in one dispatch, %d in two", fused, others)
	}
}

// TestImplicitPassesSpecialValues has NaN and infinity in the input, which only
// the outputs that see them may show, and in the weights, where nothing is padded.
func TestImplicitPassesSpecialValues(t *testing.T) {
	r := newRig(t)
	p := Problem{N: 2, C: 5, H: 6, W: 7, K: 5, R: 3, S: 3, PadH: 1, PadW: 1, Activation: ReLU}
	in := kernel.Tensors{Input: withSpecials(RandomValues(p.InputLen(), 1)), Weights: RandomValues(p.WeightsLen(), 2)}
	a := onHardware(implicitAlgorithm, 1)
	checkAlgorithm(t, r, a, p, in, ReferenceConv2D(p, in.Input, in.Weights, nil))
	p.PadH, p.PadW = 0, 0
	in.Weights = withSpecials(in.Weights)
	checkAlgorithm(t, r, a, p, in, ReferenceConv2D(p, in.Input, in.Weights, nil))
}

// resnetProblems are the shapes that the algorithms are made for.
func resnetProblems() []Problem {
	var problems []Problem
	for _, n := range []int{1, 32} {
		problems = append(problems,
			Problem{N: n, C: 3, H: 224, W: 224, K: 64, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3},
			Problem{N: n, C: 64, H: 56, W: 56, K: 64, R: 3, S: 3, PadH: 1, PadW: 1},
			Problem{N: n, C: 128, H: 28, W: 28, K: 128, R: 3, S: 3, PadH: 1, PadW: 1},
			Problem{N: n, C: 256, H: 14, W: 14, K: 256, R: 3, S: 3, PadH: 1, PadW: 1},
			Problem{N: n, C: 512, H: 7, W: 7, K: 512, R: 3, S: 3, PadH: 1, PadW: 1},
			Problem{N: n, C: 256, H: 56, W: 56, K: 64, R: 1, S: 1})
	}
	for _, n := range []int{1, 4} {
		problems = append(problems, Problem{N: n, C: 64, H: 224, W: 224, K: 64, R: 3, S: 3, PadH: 1, PadW: 1})
	}
	return problems
}

// TestCandidatesHaveSequences builds the programs that a GPU would have to compile.
func TestCandidatesHaveSequences(t *testing.T) {
	for i, p := range append(resnetProblems(), oddProblems...) {
		for _, a := range convAlgorithms {
			candidates := a.candidates(p, hardware)
			seen := map[string]bool{}
			for _, params := range candidates {
				if seen[params.String()] {
					t.Errorf("%s for %v: %v is there twice", a.name, p, params)
				}
				seen[params.String()] = true
				made, err := a.sequence(p, params, hardware)
				if err != nil {
					t.Errorf("%s for %v: %v: %v", a.name, p, params, err)
				}
				if made.WorkspaceLen > maxWorkspace || made.PackedLen > maxWorkspace {
					t.Errorf("%s for %v: %v: %d and %d elements", a.name, p, params, made.WorkspaceLen, made.PackedLen)
				}
			}
			if n := len(candidates); a.name == "implicit" && n != maxImplicitCandidates {
				t.Errorf("%s for %v: %d candidates", a.name, p, n)
			}
			most := maxWinogradCandidates
			if strings.HasSuffix(a.name, "_fused") {
				most = maxFusedCandidates
			}
			if n := len(candidates); n > 0 && i < len(resnetProblems()) && strings.HasPrefix(a.name, "winograd") && n != most {
				t.Errorf("%s for %v: %d candidates", a.name, p, n)
			}
			if testing.Verbose() && len(candidates) > 0 {
				t.Logf("%v: %s: %d, first %v", p, a.name, len(candidates), candidates[0])
			}
		}
	}
}

func TestImplicitHasNoCandidatesWhereItMakesNoSense(t *testing.T) {
	small, software := oddProblems[2], hardware
	software.software = true
	tests := map[string]struct {
		p  Problem
		on device
	}{
		"software":         {small, software},
		"a large filter":   {Problem{N: 1, C: 1, H: 20, W: 20, K: 1, R: 16, S: 1}, hardware},
		"large weights":    {Problem{N: 1, C: 30000, H: 1, W: 1, K: 30000, R: 1, S: 1}, hardware},
		"no shared memory": {small, device{maxInvocations: 1024, maxGroups: hardware.maxGroups}},
		"small groups":     {small, device{maxInvocations: 16, sharedBytes: 48 << 10, maxGroups: hardware.maxGroups}},
		"few groups":       {small, device{maxInvocations: 1024, sharedBytes: 48 << 10}},
	}
	for name, test := range tests {
		if params := implicitCandidates(test.p, test.on); len(params) > 0 {
			t.Errorf("%s: %d candidates, first %v", name, len(params), params[0])
		}
	}
}

func TestImplicitRefusesBadParams(t *testing.T) {
	p := Problem{N: 1, C: 64, H: 8, W: 8, K: 64, R: 3, S: 3}
	good := implicitCandidates(p, hardware)[0]
	tests := []struct {
		name  string
		value int
		want  string
	}{
		{"bm", 0, "bm is 0, must be at least 1"},
		{"bm", 40, "not a multiple of 32x4"},
		{"bn", 1 << 20, "must be from 0 to"},
		{"tm", 12, "does not divide"},
		{"slices", 5, "do not divide into 5 slices"},
		{"buffers", 3, "3 buffers"},
		{"taps_first", 2, "must be 0 or 1"},
		{"unroll", 2, "must be 0 or 1"},
		{"split", 4000, "do not divide into 4000 parts"},
		{"fused", 2, "fused is 2"},
	}
	for _, test := range tests {
		params := with(good, test.name, test.value)
		if _, err := implicitAlgorithm.sequence(p, params, hardware); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s=%d: error %v does not say %q", test.name, test.value, err, test.want)
		}
	}
	if _, err := implicitSequence(p, with(good, "split", 1, "fused", 1), hardware); err == nil || !strings.Contains(err.Error(), "fused is 1 with 1 parts") {
		t.Errorf("error for one fused part is %v", err)
	}
	if _, err := implicitSequence(p, ImplicitParams{}, hardware); err == nil || !strings.Contains(err.Error(), "must be at least 1") {
		t.Errorf("error for no params is %v", err)
	}
}
