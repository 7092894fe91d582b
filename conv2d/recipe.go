//go:build linux

package conv2d

import (
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/executor"
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
)

// step is one dispatch.
type step struct {
	source   *binary.Source
	groups   [3]int
	uniforms []executor.Uniform
	bound    []bound
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
}
