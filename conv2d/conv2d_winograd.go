//go:build linux

package conv2d

import (
	_ "embed"
	"errors"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var (
	//go:embed kernels/conv2d_winograd_weights.comp
	conv2dWinogradWeights string
	//go:embed kernels/conv2d_winograd_input.comp
	conv2dWinogradInput string
	//go:embed kernels/conv2d_winograd_output.comp
	conv2dWinogradOutput string
)

// The Winograd convolutions, F(2x2,3x3) and F(4x4,3x3), need 2.25 times and 4
// times fewer multiplications than the sum that defines a convolution. They take
// filters of 3x3 with stride and dilation 1. Three dispatches: the input's
// transform, a product for each of 16 or 36 frequencies by conv2d_implicit.comp,
// the output's transform.
//
// NaN and infinities are not confined to the outputs that see them: they make
// NaN of whole tiles of 2x2 or 4x4 outputs, in every filter for an input, in one
// filter for a weight.
var (
	winograd2Algorithm = winogradAlgorithm("winograd2", 2, winograd2Tolerance)
	winograd4Algorithm = winogradAlgorithm("winograd4", 4, winograd4Tolerance)
)

// The errors that are tolerated, as multiples of [Tolerance]. The transforms
// compute with numbers larger than those that go in and come out, all the more for
// larger tiles. An error is relative to the largest products of its whole tile, so
// the bound holds where the numbers in a tile are about as large as each other.
const (
	winograd2Tolerance = 1
	winograd4Tolerance = 2
)

func winogradAlgorithm(name string, tile int, times float64) algorithm[Problem] {
	return newAlgorithm(name,
		func(p Problem, on device) []ImplicitParams { return winogradCandidates(winograd{p, tile}, on) },
		func(p Problem, params ImplicitParams, on device) (kernel.Sequence, error) {
			return winogradSequence(winograd{p, tile}, params, on)
		},
		func(p Problem) float64 { return times * Tolerance(p.ReductionLen()) })
}

const (
	// maxWinogradCandidates is the most tiles that are tried for the product.
	maxWinogradCandidates = 12

	// minWinogradSide is the fewest channels and filters of a group that make up
	// for the transforms.
	minWinogradSide = 16
)

// winograd is a convolution by tiles of tile x tile outputs.
type winograd struct {
	Problem
	tile int
}

func winogradCandidates(w winograd, on device) []ImplicitParams {
	if on.software || w.check() != nil || !w.pays() {
		return nil
	}
	var params []ImplicitParams
	for _, tile := range implicitTiles(w.product(), on, maxWinogradCandidates) {
		tile.Fused = 0 // the output's transform adds the parts
		if _, err := winogradSequence(w, tile, on); err == nil {
			params = append(params, tile)
		}
	}
	return params
}

func winogradSequence(w winograd, tile ImplicitParams, on device) (kernel.Sequence, error) {
	if err := w.check(); err != nil {
		return kernel.Sequence{}, err
	}
	if tile.Fused == 1 {
		return kernel.Sequence{}, errors.New("conv2d: fused is 1: the output's transform of winograd adds the parts")
	}
	c := implicitProduct{w.product(), tile}
	if err := c.check(on); err != nil {
		return kernel.Sequence{}, err
	}
	workspace := product(w.frequencies(), w.tilesPadded(), w.C+tile.Split*w.K)
	if workspace > maxWorkspace {
		return kernel.Sequence{}, w.tooLarge()
	}
	return kernel.Sequence{
		Prepare:      []kernel.Step{w.weightsStep(c.channelsPadded(), c.filtersPadded(), nil)},
		Steps:        []kernel.Step{w.inputStep(tile.Clamp), w.productStep(c), withBias(w.Problem, w.outputStep(tile.Split))},
		PackedLen:    c.packedLen(),
		WorkspaceLen: int(workspace),
	}, nil
}

// check fails where Winograd's algorithm cannot compute the problem.
func (w winograd) check() error {
	switch {
	case w.R != 3 || w.S != 3:
		return fmt.Errorf("conv2d: a filter of %dx%d, winograd takes 3x3 only", w.R, w.S)
	case orOne(w.StrideH) != 1 || orOne(w.StrideW) != 1 || orOne(w.DilationH) != 1 || orOne(w.DilationW) != 1:
		return fmt.Errorf("conv2d: %v: winograd takes a stride and a dilation of 1 only", w.Problem)
	case w.tile == 4 && max(w.PadH, w.PadW) > 2: // an output of padding alone is 0, which only sums without rounding give
		return fmt.Errorf("conv2d: %v: winograd4 takes a padding of at most 2", w.Problem)
	case product(w.N, w.P()+w.tile, w.Q()+w.tile) > math.MaxInt32,
		product(w.frequencies(), w.tilesPadded(), w.C+w.K) > maxWorkspace:
		return w.tooLarge()
	}
	return nil
}

// pays reports whether fewer multiplications may make up for the transforms. Tiles
// that reach beyond the output cost as much as whole ones.
func (w winograd) pays() bool {
	direct := product(9, w.P(), w.Q())
	transformed := product(w.frequencies(), w.tilesP(), w.tilesQ())
	return transformed < direct && w.groupC() >= minWinogradSide && w.groupK() >= minWinogradSide
}

func (w winograd) tooLarge() error {
	return fmt.Errorf("conv2d: %v is too large for winograd: split the problem", w.Problem)
}

func (w winograd) tilesP() int { return ceilDiv(w.P(), w.tile) }
func (w winograd) tilesQ() int { return ceilDiv(w.Q(), w.tile) }

// tilesPadded returns the number of tiles up to a multiple of four.
func (w winograd) tilesPadded() int { return ceilDiv(w.N*w.tilesP()*w.tilesQ(), 4) * 4 }

// frequencies returns the number of products that replace the 9 taps.
func (w winograd) frequencies() int { return (w.tile + 2) * (w.tile + 2) }

// product returns the product between the transforms: a 1x1 convolution of an image
// with a pixel for each tile, and a group for each frequency.
func (w winograd) product() Problem {
	f := w.frequencies()
	return Problem{
		N: 1, C: f * w.C, H: 1, W: w.tilesPadded(),
		K: f * w.K, R: 1, S: 1,
		Groups: f * w.groupCount(),
	}
}

func (w winograd) weightsGrid(channelsPadded, filtersPadded int) [3]int {
	return [3]int{channelsPadded * filtersPadded / packLocal, 1, w.groupCount()}
}

// grid returns the grid of a transform, with an invocation for each tile of each
// plane.
func (w winograd) grid(planes int) [3]int {
	return [3]int{ceilDiv(planes*w.tilesPadded(), w.local(planes)), 1, 1}
}

// local returns the number of invocations in a group of a transform: few where there
// are few in all, so that every processor gets some.
func (w winograd) local(planes int) int {
	local := 128
	for local > 32 && planes*w.tilesPadded() < 2*local*gpuProcessors {
		local /= 2
	}
	return local
}

// weightsStep transforms the weights for a product with that many channels and filters of
// a group, in the layout of a define BLOCK of more, if there is one.
func (w winograd) weightsStep(channelsPadded, filtersPadded int, more shader.Defines) kernel.Step {
	d := merged(more, defines(map[string]int{
		"TILE":            w.tile,
		"GROUPS":          w.groupCount(),
		"GROUP_CHANNELS":  w.groupC(),
		"GROUP_FILTERS":   w.groupK(),
		"CHANNELS_PADDED": channelsPadded,
		"FILTERS_PADDED":  filtersPadded,
	}))
	return kernel.Step{
		Source:   shader.MustSource("conv2d_winograd_weights", conv2dWinogradWeights, d),
		Groups:   w.weightsGrid(channelsPadded, filtersPadded),
		Bindings: []kernel.Binding{kernel.Weights.At(1), kernel.Packed.At(2)},
	}
}

func (w winograd) inputStep(clamp int) kernel.Step {
	return kernel.Step{
		Source: shader.MustSource("conv2d_winograd_input", conv2dWinogradInput, defines(map[string]int{
			"TILE":     w.tile,
			"LOCAL":    w.local(w.C),
			"CLAMP":    clamp,
			"CHANNELS": w.C,
			"HEIGHT":   w.H,
			"WIDTH":    w.W,
			"TILES_P":  w.tilesP(),
			"TILES_Q":  w.tilesQ(),
			"PAD_H":    w.PadH,
			"PAD_W":    w.PadW,
		})),
		Groups:   w.grid(w.C),
		Uniforms: w.uniforms(),
		Bindings: []kernel.Binding{kernel.Input.At(0), kernel.Workspace.At(4)},
	}
}

// productStep multiplies in the workspace: the result of inputStep comes first, then
// the products.
func (w winograd) productStep(c implicitProduct) kernel.Step {
	return c.step(defines(map[string]int{"OUTPUT_AT": c.InputLen()}), kernel.Workspace, kernel.Workspace)
}

func (w winograd) outputStep(split int) kernel.Step {
	d := merged(w.epilogue(), defines(map[string]int{
		"TILE":     w.tile,
		"LOCAL":    w.local(w.K),
		"SPLIT":    split,
		"WORK_AT":  w.product().InputLen(),
		"FILTERS":  w.K,
		"OUTPUT_P": w.P(),
		"OUTPUT_Q": w.Q(),
	}))
	d["VECTOR"] = onOff(w.Q()%w.tile == 0)
	return kernel.Step{
		Source:   shader.MustSource("conv2d_winograd_output", conv2dWinogradOutput, d),
		Groups:   w.grid(w.K),
		Uniforms: w.uniforms(),
		Bindings: []kernel.Binding{kernel.Output.At(2), kernel.Workspace.At(4)},
	}
}

func (w winograd) uniforms() []job.Uniform {
	return []job.Uniform{job.Int("images", int32(w.N))}
}
