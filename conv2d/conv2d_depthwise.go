//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels/conv2d_depthwise.comp
var conv2dDepthwise string

// depthwiseAlgorithm computes convolutions in which each filter sees few channels: as
// many groups as channels, groups of up to 16 channels, pictures of one to 16
// channels. It needs no shared memory.
//
// A weight that is infinite or NaN makes NaN of the outputs for which it meets
// padding, as in implicitAlgorithm.
var depthwiseAlgorithm = newAlgorithm("depthwise", depthwiseCandidates, depthwiseSequence, sumTolerance[Problem])

const (
	// Above maxDepthwiseChannels, products in shared memory are always faster.
	maxDepthwiseChannels = 16

	// maxDepthwiseSpan is the largest filter side, with dilation: the weights and a
	// line of the input should fit into registers.
	maxDepthwiseSpan = 32

	// maxDepthwiseCode bounds the multiplications in the code after a compiler has
	// unrolled all loops but the one over channels: NVIDIA's takes 2 s for 2400.
	maxDepthwiseCode = 2048
)

// DepthwiseParams are the parameters of depthwise.
type DepthwiseParams struct {
	Local int `json:"local"` // invocations in a group
	OutK  int `json:"out_k"` // filters of an invocation
	OutP  int `json:"out_p"` // output rows of an invocation
	OutQ  int `json:"out_q"` // output columns of an invocation
}

// String returns the parameters as text.
func (b DepthwiseParams) String() string { return paramsText(b) }

// depthwiseBlocks are the candidates, the likeliest first.
var depthwiseBlocks = []DepthwiseParams{
	{OutK: 4, OutP: 2, OutQ: 2, Local: 128}, {OutK: 4, OutP: 2, OutQ: 4, Local: 128},
	{OutK: 4, OutP: 4, OutQ: 1, Local: 128}, {OutK: 2, OutP: 2, OutQ: 2, Local: 128},
	{OutK: 8, OutP: 1, OutQ: 2, Local: 128}, {OutK: 8, OutP: 2, OutQ: 2, Local: 128},
	{OutK: 1, OutP: 2, OutQ: 2, Local: 128}, {OutK: 1, OutP: 4, OutQ: 2, Local: 128},
	{OutK: 1, OutP: 2, OutQ: 4, Local: 128}, {OutK: 1, OutP: 4, OutQ: 1, Local: 128},
	{OutK: 1, OutP: 1, OutQ: 4, Local: 128}, {OutK: 1, OutP: 2, OutQ: 1, Local: 128},
	{OutK: 1, OutP: 1, OutQ: 1, Local: 128}, {OutK: 1, OutP: 4, OutQ: 4, Local: 128},
	{OutK: 1, OutP: 8, OutQ: 1, Local: 64}, {OutK: 1, OutP: 2, OutQ: 2, Local: 64},
	{OutK: 1, OutP: 4, OutQ: 1, Local: 256},
}

// maxDepthwiseCandidates bounds the candidates that a search compiles and runs.
const maxDepthwiseCandidates = 12

// depthwiseCandidates returns none for groups of several channels and many filters,
// which are faster in shared memory.
func depthwiseCandidates(p Problem, on device) []DepthwiseParams {
	if p.groupC() > 1 && p.groupK() > 2*maxDepthwiseChannels {
		return nil
	}
	var params []DepthwiseParams
	for _, b := range depthwiseBlocks {
		fits := b.OutP <= p.P() && b.OutQ <= p.Q() && len(params) < maxDepthwiseCandidates
		if fits && b.check(p, on) == nil {
			params = append(params, b)
		}
	}
	return params
}

func depthwiseSequence(p Problem, b DepthwiseParams, on device) (kernel.Sequence, error) {
	if err := b.check(p, on); err != nil {
		return kernel.Sequence{}, err
	}
	d := merged(paramDefines(b), p.shape(), p.epilogue(), defines(map[string]int{"FILTERS": p.K}))
	main := kernel.Step{
		Source: shader.MustSource("conv2d_depthwise", conv2dDepthwise, d),
		Groups: b.grid(p),
		Uniforms: []job.Uniform{
			job.Int("images", int32(p.N)), job.Int("groupChannels", int32(p.groupC())),
		},
		Bindings: []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1), kernel.Output.At(2)},
	}
	return kernel.Sequence{Steps: []kernel.Step{withBias(p, main)}}, nil
}

// check fails where the problem cannot be computed with these parameters.
func (b DepthwiseParams) check(p Problem, on device) error {
	switch {
	case b.OutK < 1 || b.OutP < 1 || b.OutQ < 1 || b.Local < 1 || b.OutK*b.OutP*b.OutQ > 64:
		return fmt.Errorf("conv2d: blocks of %dx%dx%d, %d to a group, make no sense", b.OutK, b.OutP, b.OutQ, b.Local)
	case p.groupC() > maxDepthwiseChannels:
		return fmt.Errorf("conv2d: %v has %d channels in a group, depthwise takes at most %d", p, p.groupC(), maxDepthwiseChannels)
	case p.groupK()%b.OutK != 0:
		return fmt.Errorf("conv2d: %v has %d filters in a group, not divisible by %d", p, p.groupK(), b.OutK)
	case b.Local > on.maxInvocations:
		return fmt.Errorf("conv2d: %d invocations in a group, this device allows %d", b.Local, on.maxInvocations)
	case filterSpan(p.R, p.DilationH) > maxDepthwiseSpan || filterSpan(p.S, p.DilationW) > maxDepthwiseSpan:
		return fmt.Errorf("conv2d: %v: depthwise takes filters that span at most %d", p, maxDepthwiseSpan)
	case b.unrolled(p) > maxDepthwiseCode, on.software && p.groupC()*b.unrolled(p) > maxLoopIterations:
		return fmt.Errorf("conv2d: %v: too many taps for blocks of %dx%dx%d", p, b.OutK, b.OutP, b.OutQ)
	}
	return checkGrids(p, on, b.grid(p))
}

func (b DepthwiseParams) grid(p Problem) [3]int {
	return [3]int{ceilDiv(p.N*(p.K/b.OutK)*ceilDiv(p.P(), b.OutP)*ceilDiv(p.Q(), b.OutQ), b.Local), 1, 1}
}

// unrolled returns the number of multiplications for a channel in a kernel without
// loops, some of them under conditions that are never true, or of its loads where strides
// make these more. Drivers that unroll nothing make about as many iterations.
func (b DepthwiseParams) unrolled(p Problem) int {
	lines := (b.OutP-1)*orOne(p.StrideH) + filterSpan(p.R, p.DilationH)
	line := (b.OutQ-1)*orOne(p.StrideW) + filterSpan(p.S, p.DilationW)
	return int(product(lines, max(b.OutP*b.OutK*b.OutQ*p.S, line)))
}
