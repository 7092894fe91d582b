//go:build linux

package conv2d

import (
	"slices"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
)

// SearchSpace is a problem on one device with the choices that may compute it: what
// package tune searches.
type SearchSpace struct {
	task    task
	shipped *Choice // of the shipped table, or nil
}

// NewSearchSpace returns the choices for a problem on a device that a restriction leaves.
// It fails for an invalid problem, and for one that the device cannot hold.
func NewSearchSpace(s Shape, info glctx.Info, r Restriction) (SearchSpace, error) {
	t, err := newTask(s, info)
	space := SearchSpace{task: t.restrict(r)}
	if err == nil {
		if choice, ok := shipped(space.task, deviceOf(info)); ok {
			space.shipped = &choice
		}
	}
	return space, err
}

// Shape returns the problem.
func (s SearchSpace) Shape() Shape { return s.task.shape }

// Choices returns all candidates: that of the shipped table, which a search must not fall
// behind, then the likeliest of each algorithm, then the second of each, so that a search
// that ends early has tried every algorithm.
func (s SearchSpace) Choices() []Choice {
	list := s.task.choices()
	if s.shipped == nil {
		return list
	}
	others := slices.DeleteFunc(list, func(c Choice) bool { return c == *s.shipped })
	return slices.Insert(others, 0, *s.shipped)
}

// Build returns the kernels of a choice in their order, and the error that their
// result may have, see [Compare].
func (s SearchSpace) Build(c Choice) (sequence kernel.Sequence, tolerance float64, err error) {
	return s.task.build(c)
}

// RandomTensors returns inputs for the problem, and an output where a run depends on
// it: the same for the same seed.
func (s SearchSpace) RandomTensors(seed uint64) kernel.Tensors { return s.task.randomTensors(seed) }

// Reference computes the problem on the CPU.
func (s SearchSpace) Reference(in kernel.Tensors) Expected { return s.task.shape.reference(in) }

// OutputLen is the number of elements of the output.
func (s SearchSpace) OutputLen() int { return s.task.output }

// OutputRows is the number of rows of the output, of all images and filters or of
// the whole batch.
func (s SearchSpace) OutputRows() int { return s.task.shape.of().outputRows() }

// ReferenceRow computes one row of the output on the CPU, the elements from at on.
func (s SearchSpace) ReferenceRow(in kernel.Tensors, row int) (at int, want Expected) {
	return s.task.shape.of().expectedRow(in, row)
}

// randomTensors returns inputs, and an output where a run depends on it.
func (t task) randomTensors(seed uint64) kernel.Tensors { return t.tensors(seed, RandomValues) }

// longSum is a sum for which the tolerated error, relative to the magnitude, comes near the
// sum itself where the mean of its products is 0.
const longSum = 1 << 14

// tensors is randomTensors with values of another kind. Those of long sums are positive, so
// that no part of a sum can be missing.
func (t task) tensors(seed uint64, values func(n int, seed uint64) []float32) kernel.Tensors {
	in := kernel.Tensors{Input: values(t.input, seed), Weights: values(t.weights, seed+1)}
	if t.sum > longSum {
		for _, values := range [][]float32{in.Input, in.Weights} {
			for i := range values {
				values[i] += 0.5
			}
		}
	}
	if t.bias > 0 {
		in.Bias = values(t.bias, seed+2)
	}
	if t.keepsOutput {
		in.Output = values(t.output, seed+3)
	}
	return in
}
