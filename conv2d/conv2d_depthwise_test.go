//go:build linux

package conv2d

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

var depthwiseProblems = []Problem{
	{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1},
	{N: 2, C: 5, H: 7, W: 9, K: 5, R: 3, S: 3, Groups: 5, PadH: 1, PadW: 1, Bias: true, Activation: ReLU},
	{N: 1, C: 3, H: 11, W: 8, K: 9, R: 5, S: 3, Groups: 3, StrideH: 2, StrideW: 3, PadH: 2, Activation: Tanh},
	{N: 3, C: 2, H: 6, W: 6, K: 2, R: 2, S: 2, Groups: 2, StrideH: 3, StrideW: 4, PadH: 5, PadW: 4, Bias: true, Activation: SiLU},
	{N: 1, C: 2, H: 13, W: 11, K: 4, R: 3, S: 3, Groups: 2, DilationH: 3, DilationW: 2, PadH: 2, PadW: 1, Activation: Sigmoid},
	{N: 1, C: 1, H: 20, W: 17, K: 6, R: 7, S: 7, PadH: 3, PadW: 3},
	{N: 2, C: 12, H: 7, W: 9, K: 16, R: 3, S: 3, Groups: 4, PadH: 1, PadW: 1, Bias: true, Activation: ReLU},
}

func TestDepthwise(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, p := range depthwiseProblems {
		if last := i == len(depthwiseProblems)-1; last {
			checkConv(t, r, onHardware(depthwiseAlgorithm, 0), p)
		} else {
			checkConv(t, r, turnOf(onHardware(depthwiseAlgorithm, 2), i, 2), p)
		}
	}
}

func TestDepthwisePassesSpecialValues(t *testing.T) {
	r := newRig(t)
	p := Problem{N: 1, C: 3, H: 6, W: 7, K: 3, R: 3, S: 3, Groups: 3, PadH: 1, PadW: 1}
	in := kernel.Tensors{Input: withSpecials(RandomValues(p.InputLen(), 1)), Weights: RandomValues(p.WeightsLen(), 2)}
	checkAlgorithm(t, r, onHardware(depthwiseAlgorithm, 2), p, in, ReferenceConv2D(p, in.Input, in.Weights, nil))
}

func TestDepthwiseRefuses(t *testing.T) {
	good := depthwiseProblems[1]
	params := depthwiseCandidates(good, hardware)[0]
	tests := []struct {
		want   string
		change func(p *Problem, params *DepthwiseParams)
	}{
		{"depthwise takes at most 16", func(p *Problem, _ *DepthwiseParams) { p.C *= 17 }},
		{"not divisible by 3", func(_ *Problem, params *DepthwiseParams) { params.OutK = 3 }},
		{"span at most", func(p *Problem, _ *DepthwiseParams) { p.PadH, p.DilationH = 30, 30 }},
		{"too many taps", func(p *Problem, _ *DepthwiseParams) { p.H, p.W, p.R, p.S = 64, 64, 32, 32 }},
		{"too many taps", func(p *Problem, params *DepthwiseParams) { p.StrideW, params.OutQ = 4000, 4 }},
		{"too many taps", func(p *Problem, params *DepthwiseParams) {
			p.StrideH, p.StrideW, params.OutP, params.OutQ = 1<<30, 1<<30, 8, 8
		}},
		{"make no sense", func(_ *Problem, params *DepthwiseParams) { params.OutP = 0 }},
		{"make no sense", func(_ *Problem, params *DepthwiseParams) { params.OutP, params.OutQ = 64, 64 }},
		{"invocations in a group", func(_ *Problem, params *DepthwiseParams) { params.Local = 4096 }},
	}
	for _, test := range tests {
		p, changed := good, params
		test.change(&p, &changed)
		if _, err := depthwiseSequence(p, changed, hardware); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v %v: error %v does not say %q", p, changed, err, test.want)
		}
	}
}
