//go:build linux

package conv2d

import (
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// role is what a buffer is to a problem.
type role int

// The roles. A matrix product has its A as input, its B as weights and its C as
// output.
const (
	inputRole     role = iota // A
	weightsRole               // B
	biasRole                  // where the problem has a bias
	outputRole                // C
	packedRole                // the weights in the form that the algorithm wants
	workspaceRole             // what steps leave for later steps
	arrivalsRole              // counts of work groups that have ended, 0 between runs
)

// step is one dispatch.
type step struct {
	source   *shader.Source
	groups   [3]int
	uniforms []executor.Uniform
	bound    []bound
}

// use makes a program, made from the step's source, the current one, with the step's
// uniforms.
func (s step) use(gl *glctx.GL, program uint32) {
	gl.UseProgram(program)
	for _, u := range s.uniforms {
		u.Set(gl, program)
	}
}

// start dispatches the current program.
func (s step) start(gl *glctx.GL) {
	gl.Dispatch(uint32(s.groups[0]), uint32(s.groups[1]), uint32(s.groups[2]))
}

// bound is a buffer at a storage binding of a step, all of it.
type bound struct {
	binding uint32
	role    role
}

// recipe is how an algorithm computes a problem: dispatches in order, with a
// barrier between each two.
type recipe struct {
	prepare []step // run once for each version of the weights, writes packedRole
	steps   []step // run each time

	packed    int // elements; 0: the weights are used as they are
	workspace int // elements; 0: none

	// arrivals is how many counts there are, each a 32-bit word that is 0 before a
	// step and that the step leaves at 0. They have memory of their own, which nothing
	// else writes. 0: none.
	arrivals int
}

// whole is all steps of a recipe.
func (r recipe) whole() []step { return slices.Concat(r.prepare, r.steps) }

// onOff is a condition as a define.
func onOff(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// ints are int uniforms, from names and values in turn.
func ints(pairs ...any) []executor.Uniform {
	list := make([]executor.Uniform, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, executor.Int(pairs[i].(string), int32(pairs[i+1].(int))))
	}
	return list
}

// checkGrids fails where the device cannot start that many groups.
func checkGrids(problem fmt.Stringer, on device, grids ...[3]int) error {
	for _, groups := range grids {
		for axis, n := range groups {
			if n > int(on.maxGroups[axis]) {
				return fmt.Errorf("conv2d: %v needs %d work groups along %c, this device allows %d: split the problem",
					problem, n, 'x'+rune(axis), on.maxGroups[axis])
			}
		}
	}
	return nil
}
