//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"maps"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/executor"
)

//go:embed kernels/conv2d_depthwise.comp
var conv2dDepthwise string

// depthwiseAlgorithm computes convolutions in which each filter sees one channel:
// as many groups as channels, one of each included. It needs no shared memory.
//
// A weight that is infinite or NaN makes NaN of the outputs that it meets padding
// for, as in [implicitAlgorithm].
var depthwiseAlgorithm = algorithm[Problem]{
	name:       "depthwise",
	candidates: depthwiseCandidates,
	recipe:     depthwiseRecipe,
	tolerance:  func(p Problem) float64 { return Tolerance(p.ReductionLen()) },
}

// maxDepthwiseSpan is the largest filter side, dilation counted in: its weights
// and a line of the input should fit into registers.
const maxDepthwiseSpan = 32

// maxDepthwiseCode bounds the multiplications that a compiler has to look at when it
// unrolls all loops, and with them the iterations where it unrolls none.
const maxDepthwiseCode = 8192

// depthwiseBlock is what an invocation of conv2d_depthwise.comp computes.
type depthwiseBlock struct{ p, q, local int }

func (b *depthwiseBlock) fields() map[string]*int {
	return map[string]*int{"out_p": &b.p, "out_q": &b.q, "local": &b.local}
}

var depthwiseBlocks = []depthwiseBlock{
	{2, 2, 128}, {4, 2, 128}, {2, 4, 128}, {4, 1, 128}, {1, 4, 128}, {2, 1, 128}, {1, 2, 128},
	{1, 1, 128}, {4, 4, 128}, {8, 1, 128}, {7, 1, 64}, {4, 1, 64}, {2, 2, 64}, {2, 2, 256}, {4, 1, 256},
}

func depthwiseCandidates(p Problem, on device) []Params {
	var params []Params
	for _, b := range depthwiseBlocks {
		fits := b.p <= p.P() && b.q <= p.Q()
		if fits && b.check(p, on) == nil {
			params = append(params, Params{"out_p": b.p, "out_q": b.q, "local": b.local})
		}
	}
	return params
}

func depthwiseRecipe(p Problem, params Params, on device) (recipe, error) {
	var b depthwiseBlock
	if err := readParams(params, b.fields()); err != nil {
		return recipe{}, err
	}
	if err := b.check(p, on); err != nil {
		return recipe{}, err
	}
	d := params.defines()
	maps.Copy(d, p.shape())
	maps.Copy(d, p.epilogue())
	d["FILTERS"] = defines(map[string]int{"K": p.K})["K"]
	main := step{
		source:   binary.MustSource("conv2d_depthwise", conv2dDepthwise, d),
		groups:   [3]int{b.groups(p), 1, 1},
		uniforms: []executor.Uniform{executor.Int("images", int32(p.N))},
		bound:    []bound{{0, inputRole}, {1, weightsRole}, {2, outputRole}},
	}
	return recipe{steps: []step{withBias(p, main)}}, nil
}

// check fails where the problem cannot be computed in such blocks.
func (b depthwiseBlock) check(p Problem, on device) error {
	switch {
	case b.p < 1 || b.q < 1 || b.local < 1 || b.p*b.q > 64:
		return fmt.Errorf("conv2d: blocks of %dx%d, %d to a group, make no sense", b.p, b.q, b.local)
	case p.groupC() != 1:
		return fmt.Errorf("conv2d: %v has %d channels in a group, depthwise takes 1 only", p, p.groupC())
	case b.local > on.maxInvocations:
		return fmt.Errorf("conv2d: %d invocations in a group, this device allows %d", b.local, on.maxInvocations)
	case filterSpan(p.R, p.DilationH) > maxDepthwiseSpan || filterSpan(p.S, p.DilationW) > maxDepthwiseSpan:
		return fmt.Errorf("conv2d: %v: depthwise takes filters that span at most %d", p, maxDepthwiseSpan)
	case b.unrolled(p) > maxDepthwiseCode:
		return fmt.Errorf("conv2d: %v: too many taps for blocks of %dx%d", p, b.p, b.q)
	}
	return checkGrid(p, [3]int{b.groups(p), 1, 1}, on.maxGroups)
}

func (b depthwiseBlock) groups(p Problem) int {
	return ceilDiv(p.N*p.K*ceilDiv(p.P(), b.p)*ceilDiv(p.Q(), b.q), b.local)
}

// unrolled is the number of multiplications in a kernel without loops, most of them
// under conditions that are never true.
func (b depthwiseBlock) unrolled(p Problem) int {
	lines := (b.p-1)*orOne(p.StrideH) + filterSpan(p.R, p.DilationH)
	return lines * b.p * p.R * b.q * p.S
}
