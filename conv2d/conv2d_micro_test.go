//go:build linux

package conv2d

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// registerConvs have everything that a convolution may have.
var microConvs = []Problem{
	{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1, PadH: 1, PadW: 1},
	{N: 1, C: 3, H: 12, W: 12, K: 8, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: ReLU},
	{N: 2, C: 5, H: 9, W: 7, K: 19, R: 3, S: 2, StrideH: 2, StrideW: 3, PadH: 4, PadW: 3},
	{N: 3, C: 4, H: 7, W: 7, K: 6, R: 2, S: 3, DilationH: 3, DilationW: 2, Bias: true, Activation: Sigmoid},
	{N: 2, C: 6, H: 10, W: 8, K: 9, R: 3, S: 3, PadH: 1, PadW: 1, Groups: 3},
	{N: 2, C: 5, H: 9, W: 9, K: 10, R: 3, S: 3, PadH: 1, PadW: 1, StrideH: 2, StrideW: 2, Groups: 5, Activation: SiLU},
	{N: 2, C: 17, H: 5, W: 7, K: 11, R: 1, S: 1, Bias: true, Activation: Tanh},
	{N: 1, C: 6, H: 6, W: 6, K: 5, R: 1, S: 1, StrideH: 5, StrideW: 5},
	{N: 1, C: 33_000, H: 2, W: 2, K: 3, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: ReLU},
}

func TestConvMicro(t *testing.T) {
	t.Parallel()
	r := microRig(t)
	for i, p := range microConvs {
		t.Run(strings.ReplaceAll(p.String(), " ", "_"), func(t *testing.T) {
			checkConv(t, r, turnOf(convMicroAlgorithm, i, 2), p)
		})
	}
}

// Padding must not meet the weights: zero times infinity is NaN.
func TestConvMicroPassesNaNAndInfinityOn(t *testing.T) {
	r := microRig(t)
	p := Problem{N: 1, C: 3, H: 5, W: 5, K: 3, R: 3, S: 3, PadH: 2, PadW: 2, Activation: ReLU}
	in := kernel.Tensors{Input: withSpecials(RandomValues(p.InputLen(), 1)), Weights: RandomValues(p.WeightsLen(), 2)}
	in.Weights[0] = float32(math.Inf(1))
	in.Weights[p.WeightsLen()-1] = float32(math.NaN())
	want := ReferenceConv2D(p, in.Input, in.Weights, nil)
	for name, is := range map[string]func(float64) bool{
		"NaN": math.IsNaN, "finite": isFinite, "infinite": func(v float64) bool { return math.IsInf(v, 0) },
	} {
		if !slices.ContainsFunc(want.Values, is) {
			t.Fatalf("no %s value is expected, so that this tests nothing", name)
		}
	}
	checkAlgorithm(t, r, convMicroAlgorithm, p, in, want)
}

func TestConvMicroCutsLongSums(t *testing.T) {
	for _, test := range []struct{ c, r, s, dispatches int }{
		{64, 3, 3, 1},
		{33_000, 3, 3, 5},  // 16,500 pairs at each of nine taps
		{1, 100, 327, 1},   // one channel makes no pairs
		{1, 100, 328, 2},   // and this is 32,800 iterations
		{2, 217, 151, 1},   // 32,767: the most that one dispatch makes
		{200_000, 1, 2, 7}, // 100,000 pairs
	} {
		p := Problem{N: 1, C: test.c, H: test.r, W: test.s, K: 1, R: test.r, S: test.s, Bias: true}
		made := firstSequence(t, convMicroAlgorithm, p, softwareDevice)
		if test.c > 1 {
			made.Steps = made.Steps[1:] // the first lays channels in pairs
		}
		if len(made.Steps) != test.dispatches {
			t.Errorf("%v: %d dispatches, want %d", p, len(made.Steps), test.dispatches)
		}
		for i, s := range made.Steps {
			if last := i == len(made.Steps)-1; slices.Contains(s.Bindings, kernel.Bias.At(3)) != last {
				t.Errorf("%v: dispatch %d of %d: bias at the wrong time", p, i, len(made.Steps))
			}
		}
	}
}

func TestConvMicroTakesPointwiseConvolutionsAsProducts(t *testing.T) {
	p := Problem{N: 2, C: 64, H: 7, W: 7, K: 96, R: 1, S: 1}
	made := firstSequence(t, convMicroAlgorithm, p, softwareDevice)
	if made.PackedLen != 0 || made.WorkspaceLen != 2*64*50 {
		t.Errorf("%v: %d packed, %d in the workspace: the rows of the input are odd, those of the weights are not",
			p, made.PackedLen, made.WorkspaceLen)
	}
	p.PadH = 1
	made = firstSequence(t, convMicroAlgorithm, p, softwareDevice)
	if made.PackedLen != 96*64 || made.WorkspaceLen != 2*64*49 {
		t.Errorf("%v: %d packed, %d in the workspace", p, made.PackedLen, made.WorkspaceLen)
	}
}

func TestConvMicroRefusesOtherParameters(t *testing.T) {
	p := Problem{N: 1, C: 4, H: 8, W: 8, K: 4, R: 3, S: 3}
	if _, err := convMicroAlgorithm.sequence(p, TiledParams{Tile: 4}, softwareDevice); err == nil {
		t.Error("no error for parameters of another algorithm")
	}
	p = Problem{N: 100_000, C: 1, H: 3, W: 3, K: 1, R: 3, S: 3}
	_, err := convMicroAlgorithm.sequence(p, MicroParams{Rows: 1, Columns: 1, LanesM: 8}, softwareDevice)
	if err == nil || !strings.Contains(err.Error(), "split the problem") {
		t.Errorf("error is %v", err)
	}
}

// The copy before a convolution or a product can need more groups than the device allows
// where the work itself does not: then it is not built.
func TestCopiesBeyondTheGrid(t *testing.T) {
	t.Parallel()
	picture := Problem{N: 1, C: 2, H: 2100, W: 2100, K: 1, R: 3, S: 3, PadH: 1, PadW: 1}
	odd := GEMMProblem{M: 63, N: 8_400_001, K: 1}
	for _, o := range slices.Concat(offersOf(convAlgorithms, picture, softwareDevice), offersOf(gemmAlgorithms, odd, softwareDevice)) {
		if o.name != convMicroAlgorithm.name && o.name != gemmMicroAlgorithm.name {
			continue
		}
		for _, params := range o.candidates {
			if _, err := o.sequence(params); err == nil || !strings.Contains(err.Error(), "work groups along x, this device allows 65535") {
				t.Errorf("%s %v: %v", o.name, params, err)
			}
		}
		if len(o.candidates) == 0 {
			t.Errorf("%s has no candidate", o.name)
		}
	}
	of, err := newTask(picture.Shape(), glctx.Info{
		GPU: "llvmpipe (LLVM 15.0.6, 256 bits)", MaxInvocations: 1024,
		Limits: job.Limits{MaxGroups: softwareDevice.maxGroups, MaxStorage: 1 << 31},
	})
	if err != nil {
		t.Fatal(err)
	}
	if choice, err := of.likeliest(); err != nil || choice.Algorithm == convMicroAlgorithm.name {
		t.Errorf("the choice is %v, %v", choice, err)
	}
}
