//go:build linux

package conv2d

import (
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/executor"
)

// directAlgorithm is the convolution as its definition has it, for every problem:
// one output element for each invocation, no shared memory. Its parameters:
//
//	local  invocations in a group
var directAlgorithm = algorithm[Problem]{
	name:       "direct",
	candidates: directCandidates,
	recipe:     directRecipe,
	tolerance:  func(p Problem) float64 { return Tolerance(p.ReductionLen()) },
}

// directLargest is the most operations of a problem for which more than one form is
// worth trying: beyond, other algorithms are ahead, where there is one.
const directLargest = 1e8

func directCandidates(p Problem, on device) []Params {
	list := []Params{{"local": directLocal}}
	for _, local := range []int{32, 256} {
		if local <= on.maxInvocations && p.P()*p.Q() >= 4*local && p.FLOPs() < directLargest {
			list = append(list, Params{"local": local})
		}
	}
	return list
}

// directRecipe cuts the grid where the device does not take it whole, and the sum
// where it is too long for one dispatch.
func directRecipe(p Problem, params Params, on device) (recipe, error) {
	local := params["local"]
	if local < 1 || local > on.maxInvocations {
		return recipe{}, fmt.Errorf("conv2d: direct: %d invocations in a group, the device allows 1 to %d", local, on.maxInvocations)
	}
	source, err := binary.NewSource(fmt.Sprintf("conv2d_direct_%dx%d", p.R, p.S), conv2dDirect, binary.Defines{
		"LOCAL":      strconv.Itoa(local),
		"FILTER_R":   strconv.Itoa(p.R),
		"FILTER_S":   strconv.Itoa(p.S),
		"ACTIVATION": activations[p.Activation].define,
	})
	if err != nil {
		return recipe{}, err
	}
	bias := weightsRole // something has to be bound
	if p.Bias {
		bias = biasRole
	}
	var r recipe
	for piece := range p.gridPieces(local, on.maxGroups) {
		sum := p.reduction()
		for i := range sum.dispatches() {
			rows := sum.span(i)
			var uniforms []executor.Uniform
			p.eachUniform(p.Bias, func(name string, v int) {
				uniforms = append(uniforms, executor.Int(name, int32(piece.offset(name, v))))
			})
			r.steps = append(r.steps, step{
				source:   source,
				groups:   piece.groups,
				uniforms: append(uniforms, ints("firstRow", rows.first, "lastRow", rows.last)...),
				bound:    []bound{{0, inputRole}, {1, weightsRole}, {2, outputRole}, {3, bias}},
			})
		}
	}
	return r, nil
}

// gridPiece is a part of a grid that a device can start at once.
type gridPiece struct {
	groups               [3]int
	pixel, filter, image int // where it begins
}

// offset is the value of a uniform: its own, or where the piece begins.
func (g gridPiece) offset(name string, v int) int {
	switch name {
	case "firstPixel":
		return g.pixel
	case "firstFilter":
		return g.filter
	case "firstImage":
		return g.image
	}
	return v
}

// gridPieces cuts the grid of the direct convolution.
func (p Problem) gridPieces(local int, limit [3]int32) func(yield func(gridPiece) bool) {
	return func(yield func(gridPiece) bool) {
		total := [3]int{ceilDiv(p.P()*p.Q(), local), p.K, p.N}
		for z := 0; z < total[2]; z += int(limit[2]) {
			for y := 0; y < total[1]; y += int(limit[1]) {
				for x := 0; x < total[0]; x += int(limit[0]) {
					groups := [3]int{
						min(total[0]-x, int(limit[0])), min(total[1]-y, int(limit[1])), min(total[2]-z, int(limit[2])),
					}
					if !yield(gridPiece{groups, x * local, y, z}) {
						return
					}
				}
			}
		}
	}
}
