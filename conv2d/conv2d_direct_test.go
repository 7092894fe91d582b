//go:build linux

package conv2d

import (
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// directProblems have everything that a convolution can have.
var directProblems = []Problem{
	{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1},
	{N: 2, C: 6, H: 11, W: 13, K: 9, R: 3, S: 3, PadH: 1, PadW: 1, Groups: 3, Bias: true, Activation: ReLU},
	{N: 1, C: 5, H: 9, W: 7, K: 5, R: 3, S: 2, Groups: 5, Activation: Tanh},
	{N: 2, C: 4, H: 10, W: 12, K: 8, R: 2, S: 4, StrideH: 3, StrideW: 5, DilationH: 2, DilationW: 1, Groups: 4, Bias: true, Activation: SiLU},
	{N: 1, C: 3, H: 17, W: 19, K: 4, R: 5, S: 5, PadH: 7, PadW: 6, Activation: Sigmoid},
	{N: 1, C: 8192, H: 3, W: 3, K: 2, R: 3, S: 3, Bias: true, Activation: ReLU},
}

func TestDirect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, p := range directProblems {
		checkConv(t, r, directAlgorithm, p)
	}
}

// TestDirectCutsItsGrid pretends that the device takes small grids only.
func TestDirectCutsItsGrid(t *testing.T) {
	r := newRig(t)
	cut := directAlgorithm
	cut.sequence = func(p Problem, params Params, on device) (kernel.Sequence, error) {
		on.maxGroups = [3]int32{2, 3, 2}
		whole, err := directAlgorithm.sequence(p, params, on)
		if err == nil && len(whole.Steps) != 2*2*2 {
			t.Errorf("%d steps", len(whole.Steps))
		}
		return whole, err
	}
	cut.candidates = func(Problem, device) []Params { return []Params{DirectParams{Local: 32}} }
	checkConv(t, r, cut, Problem{N: 3, C: 2, H: 10, W: 12, K: 4, R: 3, S: 3, PadH: 1, PadW: 1, Groups: 2, Bias: true, Activation: ReLU})
}

func TestDirectRefusesParameters(t *testing.T) {
	on := device{maxInvocations: 1024, maxGroups: [3]int32{65535, 65535, 65535}}
	for _, params := range []Params{nil, TiledParams{}, DirectParams{}, DirectParams{Local: -1}, DirectParams{Local: 2048}} {
		if _, err := directAlgorithm.sequence(directProblems[0], params, on); err == nil {
			t.Errorf("no error for %v", params)
		}
	}
}
