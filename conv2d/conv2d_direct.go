//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels/conv2d_direct.comp
var conv2dDirect string

// directAlgorithm is the convolution by its definition, for every problem: one output
// element for each invocation, no shared memory.
var directAlgorithm = newAlgorithm("direct", directCandidates, directSequence, sumTolerance[Problem])

// DirectParams are the parameters of direct.
type DirectParams struct {
	Local int `json:"local"` // invocations in a group
}

// String returns the parameters as text.
func (p DirectParams) String() string { return paramsText(p) }

// directLocal is LOCAL of conv2d_direct.comp where nothing was tuned.
const directLocal = 64

// directLargest is the most operations of a problem for which more than one group
// size is a candidate. Beyond it other algorithms are faster.
const directLargest = 1e8

func directCandidates(p Problem, on device) []DirectParams {
	list := []DirectParams{{Local: directLocal}}
	for _, local := range []int{32, 256} {
		if local <= on.maxInvocations && p.P()*p.Q() >= 4*local && p.FLOPs() < directLargest {
			list = append(list, DirectParams{Local: local})
		}
	}
	return list
}

// directSequence cuts the grid where it exceeds the device's limits, and the sum
// where it is too long for one dispatch.
func directSequence(p Problem, params DirectParams, on device) (kernel.Sequence, error) {
	local := params.Local
	if local < 1 || local > on.maxInvocations {
		return kernel.Sequence{}, fmt.Errorf("conv2d: direct: %d invocations in a group, the device allows 1 to %d", local, on.maxInvocations)
	}
	pieces := ceilDiv(p.N, int(on.maxGroups[2])) * ceilDiv(p.K, int(on.maxGroups[1])) * ceilDiv(ceilDiv(p.P()*p.Q(), local), int(on.maxGroups[0]))
	if err := p.reduction().check(pieces); err != nil {
		return kernel.Sequence{}, err
	}
	source := directSource(p, local)
	bias := kernel.Weights // something has to be bound
	if p.Bias {
		bias = kernel.Bias
	}
	var r kernel.Sequence
	for _, piece := range p.gridPieces(local, on.maxGroups) {
		for _, rows := range p.reduction().spans() {
			r.Steps = append(r.Steps, kernel.Step{
				Source:   source,
				Groups:   piece.groups,
				Uniforms: p.directUniforms(piece, rows),
				Bindings: []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1), kernel.Output.At(2), bias.At(3)},
			})
		}
	}
	return r, nil
}

// directSource returns the program for a filter size, an activation, and groups of
// local invocations. Problems that have these in common share it. Values that are the
// kernel's defaults are not defined, so that the built-in programs are among these.
func directSource(p Problem, local int) *shader.Source {
	name := fmt.Sprintf("conv2d_%dx%d", p.R, p.S)
	d := shader.Defines{"FILTER_R": strconv.Itoa(p.R), "FILTER_S": strconv.Itoa(p.S)}
	if p.Activation != None {
		name += "_" + p.Activation.String()
		d["ACTIVATION"] = p.Activation.define()
	}
	if local != directLocal {
		name += fmt.Sprintf("_l%d", local)
		d["LOCAL"] = strconv.Itoa(local)
	}
	return shader.MustSource(name, conv2dDirect, d)
}

// directUniforms returns the uniforms of one dispatch: a piece of the grid, and a
// part of the sum.
func (p Problem) directUniforms(piece gridPiece, rows span) []job.Uniform {
	withBias := 0
	if p.Bias {
		withBias = 1
	}
	return kernel.Ints{
		{"channels", p.C}, {"height", p.H}, {"width", p.W}, {"filters", p.K},
		{"groupC", p.groupC()}, {"groupK", p.groupK()}, {"filterR", p.R}, {"filterS", p.S},
		{"outputH", p.P()}, {"outputW", p.Q()},
		{"strideH", orOne(p.StrideH)}, {"strideW", orOne(p.StrideW)}, {"padH", p.PadH}, {"padW", p.PadW},
		{"dilationH", orOne(p.DilationH)}, {"dilationW", orOne(p.DilationW)},
		{"firstPixel", piece.pixel}, {"firstFilter", piece.filter}, {"firstImage", piece.image},
		{"withBias", withBias}, {"firstRow", rows.first}, {"lastRow", rows.last}}.Uniforms()
}

// gridPiece is a part of a grid that a device can start at once.
type gridPiece struct {
	groups               [3]int
	pixel, filter, image int // where it begins
}

// gridPieces cuts the grid of the direct convolution by the device's limits.
func (p Problem) gridPieces(local int, limit [3]int32) (pieces []gridPiece) {
	for _, z := range spansOf(p.N, int(limit[2])) {
		for _, y := range spansOf(p.K, int(limit[1])) {
			for _, x := range spansOf(ceilDiv(p.P()*p.Q(), local), int(limit[0])) {
				groups := [3]int{x.last - x.first, y.last - y.first, z.last - z.first}
				pieces = append(pieces, gridPiece{groups, x.first * local, y.first, z.first})
			}
		}
	}
	return pieces
}
