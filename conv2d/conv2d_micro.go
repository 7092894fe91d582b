//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var (
	//go:embed kernels/conv2d_micro.comp
	conv2dMicro string
	//go:embed kernels/conv2d_micro_pairs.comp
	conv2dMicroPairs string
)

// convMicroAlgorithm is conv2d_micro.comp, a CPU micro-kernel: a convolution for GPUs
// that are the CPU. Channels are laid out in pairs first. A 1x1 filter without stride
// and padding is a matrix product, which gemm_micro.comp computes.
var convMicroAlgorithm = newAlgorithm("conv2d_register", convMicroCandidates, convMicroSequence, sumTolerance[Problem])

func convMicroCandidates(p Problem, on device) []MicroParams {
	if !on.software {
		return nil
	}
	if p.isProduct() {
		return gemmMicroCandidates(p.asProduct(), on)
	}
	fits := func(t microTile) error { return checkGrids(p, on, p.microGrid(t)) }
	return likeliestTiles([]int{16, 14, 12, 10, 8, 7, 6, 4, 2, 1}, on, fits, p.microWork)
}

// isProduct reports whether the convolution is a matrix product for each image:
// weights K x C times input C x HW.
func (p Problem) isProduct() bool {
	return p.R == 1 && p.S == 1 && p.P() == p.H && p.Q() == p.W && p.PadH == 0 && p.PadW == 0 && orOne(p.Groups) == 1
}

func (p Problem) asProduct() GEMMProblem {
	product := GEMMProblem{
		M: p.K, N: p.H * p.W, K: p.C,
		Batch: p.N, StrideB: p.C * p.H * p.W, StrideC: p.K * p.H * p.W,
		Activation: p.Activation,
	}
	if p.Bias {
		product.Bias = RowBias
	}
	return product
}

// productOfConv maps the tensors of a convolution to the product: its weights are the
// first matrix.
var productOfConv = productRoles{a: kernel.Weights, b: kernel.Input, c: kernel.Output, bias: kernel.Bias}

// microPairs reports whether channels are laid out in pairs: not where a group has
// one channel only.
func (p Problem) microPairs() bool { return p.groupC() > 1 }

// microChannels returns the channels of a group, in pairs where there are some.
func (p Problem) microChannels() int {
	if p.microPairs() {
		return ceilDiv(p.groupC(), 2)
	}
	return 1
}

// microGrid is pixel tiles by filter tiles.
func (p Problem) microGrid(t microTile) [3]int {
	return [3]int{
		ceilDiv(p.N*p.P()*p.Q(), t.tileN()),
		orOne(p.Groups) * ceilDiv(p.groupK(), t.tileM()),
		1,
	}
}

func (p Problem) microWork(t microTile) microWork {
	grid := p.microGrid(t)
	products := t.Rows * t.Columns
	if p.microPairs() {
		products *= 2
	}
	return microWork{
		groups:   grid[0] * grid[1],
		steps:    float64(p.microReduction().length),
		loads:    float64(t.Rows + t.Columns),
		products: float64(products),
		stores:   float64(t.Rows*t.Columns) * loadShare(p.microPairsOut(t)),
	}
}

func (p Problem) microPairsOut(t microTile) bool {
	return t.Columns%2 == 0 && p.P()*p.Q()%2 == 0
}

func convMicroSequence(p Problem, params MicroParams, on device) (kernel.Sequence, error) {
	if p.isProduct() {
		return gemmMicroSequence(p.asProduct(), params, on, productOfConv)
	}
	t, err := microTileOf(params, on)
	if err == nil {
		err = p.microReduction().check(1)
	}
	if err != nil {
		return kernel.Sequence{}, err
	}
	grid := p.microGrid(t)
	if !p.microPairs() {
		return kernel.Sequence{Steps: p.microSteps(t, grid, kernel.Input, kernel.Weights)}, nil
	}
	taps, plane := p.R*p.S, p.H*p.W
	weights, packed, err := pairStep(p.K, p.groupC(), taps, kernel.Weights, kernel.Packed, on)
	if err != nil {
		return kernel.Sequence{}, err
	}
	input, workspace, err := pairStep(p.N*orOne(p.Groups), p.groupC(), plane, kernel.Input, kernel.Workspace, on)
	if err != nil {
		return kernel.Sequence{}, err
	}
	return kernel.Sequence{
		Prepare:      []kernel.Step{weights},
		Steps:        append([]kernel.Step{input}, p.microSteps(t, grid, kernel.Workspace, kernel.Packed)...),
		PackedLen:    packed,
		WorkspaceLen: workspace,
	}, nil
}

// pairStep lays the channels of a tensor, outer x channels x inner, in pairs. It also
// returns the number of elements of the result.
func pairStep(outer, channels, inner int, from, to kernel.Role, on device) (kernel.Step, int, error) {
	planes := outer * ceilDiv(channels, 2)
	elements := product(2, planes, inner)
	if elements > maxElements {
		return kernel.Step{}, 0, fmt.Errorf("conv2d: %d channels in pairs make %d elements, more than %d: split the problem",
			channels, elements, maxElements)
	}
	return kernel.Step{
		Source: shader.MustSource("conv2d_register_pairs", conv2dMicroPairs, planesDefines(on)),
		Groups: planesGrid(inner, planes, on),
		Uniforms: kernel.Ints{
			{"channels", channels}, {"inner", inner}, {"planes", planes},
		}.Uniforms(),
		Bindings: []kernel.Binding{from.At(0), to.At(1)},
	}, int(elements), nil
}

// microSteps returns the dispatches that sum up.
func (p Problem) microSteps(t microTile, grid [3]int, input, weights kernel.Role) (steps []kernel.Step) {
	spans := p.microReduction().spans()
	for i, s := range spans {
		last := i == len(spans)-1
		b := []kernel.Binding{input.At(0), weights.At(1), kernel.Output.At(2)}
		if p.Bias && last {
			b = append(b, kernel.Bias.At(3))
		}
		steps = append(steps, kernel.Step{Source: p.microSource(t, i > 0, last), Groups: grid, Uniforms: p.microUniforms(t, s), Bindings: b})
	}
	return steps
}

// microReduction counts in taps of all channels, or pairs of channels: each is one
// iteration.
func (p Problem) microReduction() reduction {
	return reduction{length: p.R * p.S * p.microChannels(), step: maxLoopIterations - loopCost(0)}
}

func (p Problem) microSource(t microTile, accumulate, last bool) *shader.Source {
	d := t.defines()
	d["PAIRS"] = onOff(p.microPairs())
	d["PADDED"] = onOff(p.PadH > 0 || p.PadW > 0)
	d["PAIRS_OUT"] = onOff(p.microPairsOut(t))
	d["ACCUMULATE"] = onOff(accumulate)
	d["BIAS"] = onOff(p.Bias && last)
	if last {
		d["ACTIVATION"] = p.Activation.define()
	}
	return shader.MustSource(fmt.Sprintf("conv2d_register_%dx%d", t.tileM(), t.tileN()), conv2dMicro, d)
}

func (p Problem) microUniforms(t microTile, s span) []job.Uniform {
	return kernel.Ints{
		{"channels", p.microChannels()},
		{"height", p.H}, {"width", p.W},
		{"filters", p.groupK()},
		{"filterTiles", ceilDiv(p.groupK(), t.tileM())},
		{"groups", orOne(p.Groups)},
		{"filterR", p.R}, {"filterS", p.S},
		{"outputW", p.Q()},
		{"imagePixels", p.P() * p.Q()},
		{"pixels", p.N * p.P() * p.Q()},
		{"strideH", orOne(p.StrideH)}, {"strideW", orOne(p.StrideW)},
		{"padH", p.PadH}, {"padW", p.PadW},
		{"dilationH", orOne(p.DilationH)}, {"dilationW", orOne(p.DilationW)},
		{"firstStep", s.first}, {"lastStep", s.last},
	}.Uniforms()
}
