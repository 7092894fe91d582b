//go:build linux

package conv2d

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var (
	//go:embed kernels/conv2d_implicit.comp
	conv2dImplicit string
	//go:embed kernels/conv2d_implicit_pack.comp
	conv2dImplicitPack string
	//go:embed kernels/conv2d_implicit_sum.comp
	conv2dImplicitSum string
)

// implicitAlgorithm computes a convolution as the matrix product of the weights and
// of the input under each tap (im2col), which is never stored. It is for GPUs with
// shared memory, and takes filters of up to 15x15.
//
// The input is 0 on padding. So a weight that is infinite or NaN makes NaN of the
// outputs for which it meets padding; the direct convolution leaves it out.
var implicitAlgorithm = newAlgorithm("implicit", implicitCandidates, implicitSequence, sumTolerance[Problem])

const (
	// maxImplicitSide is the largest filter side that the masks of
	// conv2d_implicit.comp hold.
	maxImplicitSide = 15

	// maxWorkspace is the most elements of a workspace and of packed weights: 2 GiB,
	// the limit of drivers for a storage block.
	maxWorkspace = 1 << 29

	packLocal = 32  // LOCAL of conv2d_implicit_pack.comp
	sumLocal  = 128 // LOCAL of conv2d_implicit_sum.comp
)

// implicitProduct is a convolution cut into tiles.
type implicitProduct struct {
	Problem
	tile ImplicitParams
}

func implicitSequence(p Problem, tile ImplicitParams, on device) (kernel.Sequence, error) {
	c := implicitProduct{p, tile}
	if err := c.check(on); err != nil {
		return kernel.Sequence{}, err
	}
	if c.tile.Split == 1 || c.tile.Fused == 1 {
		main := c.step(c.epilogue(), kernel.Input, kernel.Output)
		return inOne(c.Problem, c.packStep(), main, c.packedLen(), c.tile.Split, c.tile.BM*c.tile.BN), nil
	}
	return kernel.Sequence{
		Prepare:      []kernel.Step{c.packStep()},
		Steps:        []kernel.Step{c.step(nil, kernel.Input, kernel.Workspace), withBias(p, c.sumStep())},
		PackedLen:    c.packedLen(),
		WorkspaceLen: c.tile.Split * p.OutputLen(),
	}, nil
}

// inOne returns the sequence with one dispatch behind pack: of whole sums, or of split parts
// that the last group of a tile adds. main has a group for each part of each tile.
func inOne(p Problem, pack, main kernel.Step, packedLen, split, tileLen int) kernel.Sequence {
	main = withBias(p, main)
	made := kernel.Sequence{Prepare: []kernel.Step{pack}, PackedLen: packedLen}
	if split > 1 {
		main.Bindings = append(main.Bindings, partialBinding, semaphoresBinding)
		parts := main.Groups[0] * main.Groups[1] * main.Groups[2]
		made.SemaphoreCount, made.WorkspaceLen = parts/split, parts*tileLen
	}
	made.Steps = []kernel.Step{main}
	return made
}

// check fails where the product cannot be computed with this tile.
func (c implicitProduct) check(on device) error {
	if err := c.tile.validate(); err != nil {
		return err
	}
	switch grid := c.grid(); {
	case c.tile.invocations() > on.maxInvocations:
		return fmt.Errorf("conv2d: a tile needs %d invocations in a group, this device allows %d", c.tile.invocations(), on.maxInvocations)
	case c.sharedBytes() > on.sharedBytes:
		return fmt.Errorf("conv2d: a tile needs %d bytes of shared memory, this device has %d", c.sharedBytes(), on.sharedBytes)
	case c.R > maxImplicitSide || c.S > maxImplicitSide:
		return fmt.Errorf("conv2d: a filter of %dx%d, implicit takes at most %dx%d", c.R, c.S, maxImplicitSide, maxImplicitSide)
	case c.tile.Split > 1 && (c.tile.Split-1)*c.part() >= c.rowSteps():
		return fmt.Errorf("conv2d: %d steps do not divide into %d parts", c.rowSteps(), c.tile.Split)
	case product(c.groupCount(), c.rowSteps(), c.tile.BK, c.filtersPadded()) > maxWorkspace,
		c.tile.Split > 1 && product(c.tile.Split, c.OutputLen()) > maxWorkspace,
		c.tile.Fused == 1 && product(grid[0], grid[1], grid[2], c.tile.BM, c.tile.BN) > maxWorkspace,
		product(c.N, c.P(), c.Q()) > math.MaxInt32-int64(c.tile.BN):
		return fmt.Errorf("conv2d: %v is too large for implicit: split the problem", c.Problem)
	}
	copies := ceilDiv(c.tile.BK*(c.tile.BM+c.tile.BN)/4, c.tile.invocations())
	return cmp.Or(checkLoops(on, c.tile.TM*c.tile.TN, c.part(), c.tile.BK/c.tile.Slices, copies),
		checkGrids(c.Problem, on, c.packGrid(), c.grid(), c.sumGrid()))
}

func (p Problem) groupCount() int { return orOne(p.Groups) }

// vector reports whether pixels are loaded and stored four at a time.
func (c implicitProduct) vector() bool {
	return c.R == 1 && c.S == 1 && orOne(c.StrideH) == 1 && orOne(c.StrideW) == 1 &&
		c.PadH == 0 && c.PadW == 0 && c.H*c.W%4 == 0
}

// maxTable is the most rows whose places are kept in shared memory.
const maxTable = 512

// table reports whether the places of the rows are kept in shared memory, which is
// where they are not computed for a whole step at once.
func (c implicitProduct) table() bool {
	return c.tile.TapsFirst == 0 && !c.vector() && c.rowSteps()*c.tile.BK <= maxTable
}

// sharedBytes is the shared memory of a group.
func (c implicitProduct) sharedBytes() int {
	bytes := c.tile.sharedBytes()
	if c.table() {
		bytes += 8 * c.rowSteps() * c.tile.BK
	}
	return bytes
}

// channelsPadded is C of a group up to a multiple of bk.
func (c implicitProduct) channelsPadded() int { return ceilDiv(c.groupC(), c.tile.BK) * c.tile.BK }

// rowSteps is the number of steps of bk rows that the reduction has.
func (c implicitProduct) rowSteps() int {
	if c.tile.TapsFirst == 1 || c.vector() {
		return c.R * c.S * c.channelsPadded() / c.tile.BK
	}
	return ceilDiv(c.ReductionLen(), c.tile.BK)
}

// part is the steps of one of split parts of the reduction.
func (c implicitProduct) part() int { return ceilDiv(c.rowSteps(), c.tile.Split) }

func (c implicitProduct) filtersPadded() int { return ceilDiv(c.groupK(), c.tile.BM) * c.tile.BM }

func (c implicitProduct) packedLen() int {
	return c.groupCount() * c.rowSteps() * c.tile.BK * c.filtersPadded()
}

func (c implicitProduct) packGrid() [3]int {
	return [3]int{c.rowSteps() * c.tile.BK * c.filtersPadded() / packLocal, 1, c.groupCount()}
}

func (c implicitProduct) grid() [3]int {
	return [3]int{
		ceilDiv(c.N*c.P()*c.Q(), c.tile.BN),
		c.filtersPadded() / c.tile.BM,
		c.groupCount() * c.tile.Split,
	}
}

func (c implicitProduct) sumGrid() [3]int {
	return [3]int{ceilDiv(c.OutputLen()/c.sumWide(), sumLocal), 1, 1}
}

// sumWide is the number of elements that an invocation adds the parts of.
func (c implicitProduct) sumWide() int {
	if c.P()*c.Q()%4 == 0 {
		return 4
	}
	return 1
}

// packStep copies the weights to the layout that step reads.
func (c implicitProduct) packStep() kernel.Step {
	return kernel.Step{
		Source: shader.MustSource("conv2d_implicit_pack", conv2dImplicitPack, defines(map[string]int{
			"ROWS":            c.rowSteps() * c.tile.BK,
			"FILTERS_PADDED":  c.filtersPadded(),
			"TAPS_FIRST":      c.tile.TapsFirst,
			"CHANNELS_PADDED": c.channelsPadded(),
			"FILTER_R":        c.R,
			"FILTER_S":        c.S,
			"GROUP_CHANNELS":  c.groupC(),
			"GROUP_FILTERS":   c.groupK(),
		})),
		Groups:   c.packGrid(),
		Bindings: []kernel.Binding{kernel.Weights.At(1), kernel.Packed.At(2)},
	}
}

// step returns the product, from one buffer into another, with more defines.
func (c implicitProduct) step(more shader.Defines, from, to kernel.Role) kernel.Step {
	d := merged(paramDefines(c.tile), c.shape(), more)
	if c.table() {
		d["TABLE"] = "1"
	}
	if c.vector() {
		d["VECTOR"], d["TAPS_FIRST"] = "1", "1"
	}
	return kernel.Step{
		Source:   shader.MustSource("conv2d_implicit", conv2dImplicit, d),
		Groups:   c.grid(),
		Uniforms: []job.Uniform{job.Int("images", int32(c.N))},
		Bindings: []kernel.Binding{from.At(0), kernel.Packed.At(1), to.At(2)},
	}
}

// sumStep adds the parts of a split reduction.
func (c implicitProduct) sumStep() kernel.Step {
	d := merged(c.epilogue(), defines(map[string]int{"SPLIT": c.tile.Split, "FILTERS": c.K, "PIXELS": c.P() * c.Q()}))
	d["VECTOR"] = onOff(c.sumWide() == 4)
	return kernel.Step{
		Source:   shader.MustSource("conv2d_implicit_sum", conv2dImplicitSum, d),
		Groups:   c.sumGrid(),
		Uniforms: []job.Uniform{job.Int("images", int32(c.N))},
		Bindings: []kernel.Binding{kernel.Workspace.At(0), kernel.Output.At(2)},
	}
}

// withBias binds the bias of a problem that has one.
func withBias(p Problem, s kernel.Step) kernel.Step {
	if p.Bias {
		s.Bindings = append(s.Bindings, kernel.Bias.At(3))
	}
	return s
}

// epilogue returns bias and activation as defines.
func (p Problem) epilogue() shader.Defines {
	return shader.Defines{"ACTIVATION": p.Activation.define(), "BIAS": onOff(p.Bias)}
}

// shape is the problem but for N, bias and activation, as defines.
func (p Problem) shape() shader.Defines {
	return defines(map[string]int{
		"CHANNELS":       p.C,
		"HEIGHT":         p.H,
		"WIDTH":          p.W,
		"FILTER_R":       p.R,
		"FILTER_S":       p.S,
		"OUTPUT_P":       p.P(),
		"OUTPUT_Q":       p.Q(),
		"STRIDE_H":       orOne(p.StrideH),
		"STRIDE_W":       orOne(p.StrideW),
		"PAD_H":          p.PadH,
		"PAD_W":          p.PadW,
		"DILATION_H":     orOne(p.DilationH),
		"DILATION_W":     orOne(p.DilationW),
		"GROUPS":         orOne(p.Groups),
		"GROUP_CHANNELS": p.groupC(),
		"GROUP_FILTERS":  p.groupK(),
	})
}
