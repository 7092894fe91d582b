//go:build linux

package conv2d

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels/conv2d_winograd_fused.comp
var conv2dWinogradFused string

// The fused Winograd convolution computes the same as winograd2 in one dispatch: each group
// transforms the input of its tiles, multiplies for all frequencies, and transforms the
// sums, which never are in memory. Problems that are short of work for three dispatches end
// sooner. NaN and infinities spread as in winograd2.
//
// F(4x4,3x3) has no such form: the operands of 36 frequencies leave a group too few
// filters and tiles to share them (docs/bench/kernels.md).
var fusedAlgorithm = newAlgorithm("winograd2_fused", fusedCandidates,
	func(p Problem, params FusedParams, on device) (kernel.Sequence, error) {
		return newFused(p, params).sequence(on)
	},
	func(p Problem) float64 { return winograd2Tolerance * Tolerance(p.ReductionLen()) })

// FusedParams are the parameters of winograd2_fused: see
// conv2d_winograd_fused.comp.
type FusedParams struct {
	BK    int `json:"bk"`
	BM    int `json:"bm"`
	BN    int `json:"bn"`
	Split int `json:"split"`
	TM    int `json:"tm"`
	TN    int `json:"tn"`
}

// String returns the parameters as text.
func (t FusedParams) String() string { return paramsText(t) }

// validate fails for parameters that the kernel cannot be compiled with.
func (t FusedParams) validate() error {
	switch {
	case t.BK < 4 || t.BK%4 != 0 || t.BM < 16 || t.BM%16 != 0 || t.BN < 4:
		return fmt.Errorf("conv2d: steps of %d and a block of %dx%d, must be multiples of 4 and of 16x4", t.BK, t.BM, t.BN)
	case t.TM < 4 || t.TN < 4 || t.TM%4 != 0 || t.TN%4 != 0 || t.BM%t.TM != 0 || t.BN%t.TN != 0:
		return fmt.Errorf("conv2d: a block of %dx%d does not divide into parts of %dx%d", t.BM, t.BN, t.TM, t.TN)
	case t.Split < 1:
		return fmt.Errorf("conv2d: split is %d, must be at least 1", t.Split)
	}
	return nil
}

// maxPasses is the most passes of conv2d_winograd_fused.comp.
const maxPasses = 8

// fusedWinograd is a convolution by tiles, cut into blocks of filters and tiles.
type fusedWinograd struct {
	winograd
	block FusedParams
}

func newFused(p Problem, block FusedParams) fusedWinograd {
	return fusedWinograd{winograd{p, 2}, block}
}

func (w fusedWinograd) sequence(on device) (kernel.Sequence, error) {
	if err := w.winograd.check(); err != nil {
		return kernel.Sequence{}, err
	}
	if err := w.checkBlock(on); err != nil {
		return kernel.Sequence{}, err
	}
	return inOne(w.Problem, w.packStep(), w.step(on), w.packedLen(), w.block.Split, w.block.BM*w.block.BN*w.tile*w.tile), nil
}

// checkBlock fails where the device cannot compute the problem with this block.
func (w fusedWinograd) checkBlock(on device) error {
	if err := w.block.validate(); err != nil {
		return err
	}
	perPart, grid := ceilDiv(w.steps(), w.block.Split), w.blockGrid()
	switch n := w.invocations(); {
	case n > on.maxInvocations || n%w.block.BN != 0:
		return fmt.Errorf("conv2d: a block needs %d invocations in a group, this device allows %d, of which each has one of %d tiles",
			n, on.maxInvocations, w.block.BN)
	case w.passes(on) == 0:
		return fmt.Errorf("conv2d: a block needs %d bytes of shared memory, this device has %d", w.sharedBytes(maxPasses), on.sharedBytes)
	case w.block.Split > 1 && (w.block.Split-1)*perPart >= w.steps():
		return fmt.Errorf("conv2d: %d steps do not divide into %d parts", w.steps(), w.block.Split)
	case product(w.groupCount(), w.frequencies(), w.channelsPadded(), w.filtersPadded()) > maxWorkspace,
		product(grid[0], grid[1], grid[2], w.block.BM*w.block.BN, w.tile*w.tile) > maxWorkspace:
		return w.tooLarge()
	}
	copies := ceilDiv(w.block.BK*(w.frequencies()*w.block.BM/4+w.block.BN), w.invocations())
	return cmp.Or(checkLoops(on, w.block.TM*w.block.TN, perPart, w.block.BK, copies),
		checkGrids(w.Problem, on, w.weightsGrid(w.channelsPadded(), w.filtersPadded()), grid))
}

func (w fusedWinograd) invocations() int {
	return w.frequencies() * (w.block.BM / w.block.TM) * (w.block.BN / w.block.TN)
}

// steps is the number of steps that the channels of a group take.
func (w fusedWinograd) steps() int { return ceilDiv(w.groupC(), w.block.BK) }

func (w fusedWinograd) channelsPadded() int { return w.steps() * w.block.BK }
func (w fusedWinograd) filtersPadded() int  { return roundUp(w.groupK(), w.block.BM) }

func (w fusedWinograd) packedLen() int {
	return w.groupCount() * w.frequencies() * w.channelsPadded() * w.filtersPadded()
}

func (w fusedWinograd) blockGrid() [3]int {
	return [3]int{
		ceilDiv(w.N*w.tilesP()*w.tilesQ(), w.block.BN),
		w.filtersPadded() / w.block.BM,
		w.groupCount() * w.block.Split,
	}
}

// sharedBytes is the shared memory of a group that exchanges its sums in that many passes.
func (w fusedWinograd) sharedBytes(passes int) int {
	t := w.block
	bytes := 4 * w.frequencies() * (t.BK*t.BM + max(t.BK*t.BN, t.BM*t.BN/passes))
	if t.Split > 1 {
		bytes += semaphoreBytes
	}
	return bytes
}

// passes returns the fewest passes in which the sums fit into shared memory, 0 for none.
func (w fusedWinograd) passes(on device) int {
	for passes := 1; passes <= maxPasses; passes *= 2 {
		if w.sharedBytes(passes) <= on.sharedBytes {
			return passes
		}
	}
	return 0
}

// packStep transforms the weights into the layout that step reads.
func (w fusedWinograd) packStep() kernel.Step {
	return w.weightsStep(w.channelsPadded(), w.filtersPadded(), defines(map[string]int{
		"BLOCK": w.block.BM,
		"LINE":  4 * w.block.BM / w.block.TM,
	}))
}

// step is the whole convolution.
func (w fusedWinograd) step(on device) kernel.Step {
	d := merged(paramDefines(w.block), w.shape(), w.epilogue())
	d["PASSES"] = strconv.Itoa(w.passes(on))
	return kernel.Step{
		Source:   shader.MustSource("conv2d_winograd_fused", conv2dWinogradFused, d),
		Groups:   w.blockGrid(),
		Uniforms: append(w.uniforms(), job.Int("steps", int32(w.steps()))),
		Bindings: []kernel.Binding{kernel.Input.At(0), kernel.Packed.At(1), kernel.Output.At(2)},
	}
}
