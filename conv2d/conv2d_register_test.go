//go:build linux

package conv2d

import (
	"strings"
	"testing"
)

// registerConvs have everything that a convolution may have.
var registerConvs = []Problem{
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

func TestConvRegister(t *testing.T) {
	r := newRunner(t)
	for _, p := range registerConvs {
		t.Run(strings.ReplaceAll(p.String(), " ", "_"), func(t *testing.T) {
			checkConv(t, r, convRegisterAlgorithm, p)
		})
	}
}
