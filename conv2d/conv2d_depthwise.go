//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"maps"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels/conv2d_depthwise.comp
var conv2dDepthwise string

// depthwiseAlgorithm computes convolutions in which each filter sees one channel,
// or a few: as many groups as channels, groups of up to 16 channels, pictures of one
// to 16 channels. It needs no shared memory.
//
// A weight that is infinite or NaN makes NaN of the outputs that it meets padding
// for, as in implicitAlgorithm.
var depthwiseAlgorithm = algorithm[Problem]{
	name:       "depthwise",
	candidates: depthwiseCandidates,
	sequence:   depthwiseSequence,
	tolerance:  func(p Problem) float64 { return Tolerance(p.ReductionLen()) },
}

const (
	// maxDepthwiseChannels is where products in shared memory are faster for sure.
	maxDepthwiseChannels = 16

	// maxDepthwiseSpan is the largest filter side, dilation counted in: the weights
	// and a line of the input should fit into registers.
	maxDepthwiseSpan = 32

	// maxDepthwiseCode bounds the multiplications that a compiler has to look at
	// when it unrolls all loops but the one over channels.
	maxDepthwiseCode = 8192
)

// depthwiseBlock is what an invocation of conv2d_depthwise.comp computes, and how
// many of them make a group.
type depthwiseBlock struct{ k, p, q, local int }

func (b *depthwiseBlock) fields() map[string]*int {
	return map[string]*int{"out_k": &b.k, "out_p": &b.p, "out_q": &b.q, "local": &b.local}
}

var depthwiseBlocks = []depthwiseBlock{
	{4, 2, 2, 128}, {4, 2, 4, 128}, {4, 4, 1, 128}, {2, 2, 2, 128}, {8, 1, 2, 128}, {8, 2, 2, 128},
	{1, 2, 2, 128}, {1, 4, 2, 128}, {1, 2, 4, 128}, {1, 4, 1, 128}, {1, 1, 4, 128},
	{1, 2, 1, 128}, {1, 1, 1, 128}, {1, 4, 4, 128}, {1, 8, 1, 64}, {1, 2, 2, 64}, {1, 4, 1, 256},
}

// maxDepthwiseCandidates bounds what tuning has to compile and to run.
const maxDepthwiseCandidates = 12

// depthwiseCandidates has none for groups of several channels and many filters:
// those are for shared memory.
func depthwiseCandidates(p Problem, on device) []Params {
	if p.groupC() > 1 && p.groupK() > 2*maxDepthwiseChannels {
		return nil
	}
	var params []Params
	for _, b := range depthwiseBlocks {
		fits := b.p <= p.P() && b.q <= p.Q() && len(params) < maxDepthwiseCandidates
		if fits && b.check(p, on) == nil {
			params = append(params, Params{"out_k": b.k, "out_p": b.p, "out_q": b.q, "local": b.local})
		}
	}
	return params
}

func depthwiseSequence(p Problem, params Params, on device) (kernel.Sequence, error) {
	var b depthwiseBlock
	if err := readParams(params, b.fields()); err != nil {
		return kernel.Sequence{}, err
	}
	if err := b.check(p, on); err != nil {
		return kernel.Sequence{}, err
	}
	d := params.defines()
	maps.Copy(d, p.shape())
	maps.Copy(d, p.epilogue())
	maps.Copy(d, defines(map[string]int{"FILTERS": p.K}))
	main := kernel.Step{
		Source: shader.MustSource("conv2d_depthwise", conv2dDepthwise, d),
		Groups: b.grid(p),
		Uniforms: []executor.Uniform{
			executor.Int("images", int32(p.N)), executor.Int("groupChannels", int32(p.groupC())),
		},
		Bindings: []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1), kernel.Output.At(2)},
	}
	return kernel.Sequence{Steps: []kernel.Step{withBias(p, main)}}, nil
}

// check fails where the problem cannot be computed in such blocks.
func (b depthwiseBlock) check(p Problem, on device) error {
	switch {
	case b.k < 1 || b.p < 1 || b.q < 1 || b.local < 1 || b.k*b.p*b.q > 64:
		return fmt.Errorf("conv2d: blocks of %dx%dx%d, %d to a group, make no sense", b.k, b.p, b.q, b.local)
	case p.groupC() > maxDepthwiseChannels:
		return fmt.Errorf("conv2d: %v has %d channels in a group, depthwise takes at most %d", p, p.groupC(), maxDepthwiseChannels)
	case p.groupK()%b.k != 0:
		return fmt.Errorf("conv2d: %v has %d filters in a group, not divisible by %d", p, p.groupK(), b.k)
	case b.local > on.maxInvocations:
		return fmt.Errorf("conv2d: %d invocations in a group, this device allows %d", b.local, on.maxInvocations)
	case filterSpan(p.R, p.DilationH) > maxDepthwiseSpan || filterSpan(p.S, p.DilationW) > maxDepthwiseSpan:
		return fmt.Errorf("conv2d: %v: depthwise takes filters that span at most %d", p, maxDepthwiseSpan)
	case b.unrolled(p) > maxDepthwiseCode, on.software && p.groupC()*b.unrolled(p) > maxLoopIterations:
		return fmt.Errorf("conv2d: %v: too many taps for blocks of %dx%dx%d", p, b.k, b.p, b.q)
	}
	return checkGrids(p, on, b.grid(p))
}

func (b depthwiseBlock) grid(p Problem) [3]int {
	return [3]int{ceilDiv(p.N*(p.K/b.k)*ceilDiv(p.P(), b.p)*ceilDiv(p.Q(), b.q), b.local), 1, 1}
}

// unrolled is the number of multiplications for a channel in a kernel without
// loops, most of them under conditions that are never true. Drivers that unroll
// nothing make about as many iterations.
func (b depthwiseBlock) unrolled(p Problem) int {
	lines := (b.p-1)*orOne(p.StrideH) + filterSpan(p.R, p.DilationH)
	return lines * b.p * p.R * b.k * b.q * p.S
}
