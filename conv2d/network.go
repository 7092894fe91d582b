//go:build linux

package conv2d

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// Layer is one problem of a network, with its weights. The output of a layer is the
// input of the next, element by element: a matrix product reads the output of a
// convolution for N images as N rows. Where Weights is nil they are set later, by
// SetWeights of the network's plans.
type Layer struct {
	Name          string
	Shape         Shape
	Weights, Bias []float32
	Choice        *Choice // the algorithm; nil: that of the options
}

// Network is a chain of plans whose intermediate tensors stay on the device. Like a
// plan it has device memory and programs, which Release releases.
type Network struct {
	layers  []Layer
	plans   []*Plan
	between []*executor.Memory // the output of each layer but the last
}

// NewNetwork makes a plan for every layer, all with the same options, and puts the
// weights on the device. It fails for layers that do not fit together, and as
// [NewPlan] does.
func NewNetwork(ctx context.Context, e *executor.Executor, programs executor.Programs, layers []Layer, o PlanOptions) (*Network, error) {
	n := &Network{layers: layers}
	for i := range layers {
		if err := n.add(ctx, e, programs, i, o); err != nil {
			n.Release()
			return nil, fmt.Errorf("conv2d: layer %s: %w", layers[i].Name, err)
		}
	}
	if len(layers) == 0 {
		return nil, fmt.Errorf("conv2d: a network without layers")
	}
	return n, nil
}

// NetworkBytes returns the device memory that NewNetwork would take for layers, with their weights
// in two layouts.
func NetworkBytes(ctx context.Context, e *executor.Executor, programs executor.Programs, layers []Layer, o PlanOptions) (total int64, err error) {
	choice := o.Choice
	for _, l := range layers {
		o.Choice = cmp.Or(l.Choice, choice)
		p, err := choosePlan(ctx, e, programs, l.Shape, o)
		if err != nil {
			return 0, fmt.Errorf("conv2d: layer %s: %w", l.Name, err)
		}
		total += 4 * int64(p.weights+p.bias+p.output+p.sequence.PackedLen+p.sequence.WorkspaceLen+p.sequence.SemaphoreCount)
	}
	return total, nil
}

// add makes layer i, and memory for the output of the layer before.
func (n *Network) add(ctx context.Context, e *executor.Executor, programs executor.Programs, i int, o PlanOptions) error {
	l := n.layers[i]
	o.Choice = cmp.Or(l.Choice, o.Choice)
	p, err := newPlan(ctx, e, programs, l.Shape, o)
	if err != nil {
		return err
	}
	n.plans = append(n.plans, p)
	if p.keepsOutput && i < len(n.layers)-1 {
		return fmt.Errorf("%v changes an output that is there: only the last layer can", l.Shape)
	}
	if i > 0 {
		before := n.plans[i-1]
		if before.OutputLen() != p.InputLen() {
			return fmt.Errorf("it takes %d elements, and %s makes %d", p.InputLen(), n.layers[i-1].Name, before.OutputLen())
		}
		m, err := p.newMemory(p.InputLen())
		if err != nil {
			return err
		}
		n.between = append(n.between, m)
	}
	if l.Weights == nil {
		return nil
	}
	return p.SetWeights(ctx, 1, l.Weights, l.Bias)
}

// Release releases programs and memory, as Plan.Release does.
func (n *Network) Release() {
	for _, p := range n.plans {
		p.Release()
	}
	for _, m := range n.between {
		m.Release()
	}
}

// Plans returns the plans of the layers, in order. They belong to the network.
func (n *Network) Plans() []*Plan { return n.plans }

// InputLen is the number of elements that the first layer takes.
func (n *Network) InputLen() int { return n.first().InputLen() }

// OutputLen is the number of elements that the last layer makes.
func (n *Network) OutputLen() int { return n.last().OutputLen() }

// Job is one run of all layers: input goes up and output comes down with the job.
// It fails for slices of other lengths, and where KeepsOutput.
func (n *Network) Job(input, output []float32) (job.Job, error) {
	if n.KeepsOutput() {
		return job.Job{}, n.errKeepsOutput()
	}
	if err := checkAll(length{"input", len(input), n.InputLen()}, length{"output", len(output), n.OutputLen()}); err != nil {
		return job.Job{}, err
	}
	dispatches, err := n.dispatches(nil, nil)
	if err != nil {
		return job.Job{}, err
	}
	j := JobOf(dispatches...)
	if binding, ok := n.first().sequence.IndexOf(kernel.Input); ok {
		j.Inputs = []job.Input{{Binding: binding, Data: glctx.Bytes(input)}}
	}
	binding, _ := n.last().sequence.IndexOf(kernel.Output)
	j.Outputs = []job.Output{{Binding: binding, Dirty: true, To: glctx.Bytes(output)}}
	return j, nil
}

// KeepsOutput reports whether the values of the output from before matter: the last layer
// is a matrix product with a beta, or with gaps in C. Then runs are made of Dispatches.
func (n *Network) KeepsOutput() bool { return n.last().keepsOutput }

func (n *Network) errKeepsOutput() error {
	return fmt.Errorf("conv2d: %v changes an output that is there: give it device memory for the output", n.last().shape)
}

// Run computes all layers once, from and to the host, however large input and output
// are. Where KeepsOutput, it reads output too. It makes memory on the device and waits for every copy: for a stream of inputs
// use Job.
func (n *Network) Run(ctx context.Context, input, output []float32) error {
	return runOnce(ctx, n.first(), n.last(), n.dispatches, input, output, &Timing{})
}

func (n *Network) first() *Plan { return n.plans[0] }
func (n *Network) last() *Plan  { return n.plans[len(n.plans)-1] }

// dispatches returns one run of all layers. A nil input or output is left to the job.
func (n *Network) dispatches(input, output *executor.Memory) ([]job.Dispatch, error) {
	var all []job.Dispatch
	for i, p := range n.plans {
		o := Operands{Input: input, Output: output}
		if i > 0 {
			o.Input = n.between[i-1]
		}
		if i < len(n.between) {
			o.Output = n.between[i]
		}
		chain, err := p.chain(o)
		if err != nil {
			return nil, err
		}
		all = append(all, chain...)
	}
	return all, nil
}

// Reference computes the network on the CPU, as [ReferenceLayers] does with the
// tolerances of its plans.
func (n *Network) Reference(input []float32) Expected {
	tolerances := make([]float64, len(n.plans))
	for i, p := range n.plans {
		tolerances[i] = p.Tolerance()
	}
	return ReferenceLayers(n.layers, tolerances, input)
}

// ReferenceLayers computes valid layers on the CPU with float64 sums. Compare a result
// with it under a tolerance of 1: the magnitudes are the errors that each element may
// have. Each layer has the error of its tolerance, and passes on the errors of its inputs
// as if these were independent, which rounding errors are: squares add up.
func ReferenceLayers(layers []Layer, tolerances []float64, input []float32) Expected {
	values, squares := input, make([]float32, len(input))
	var e Expected
	for i, l := range layers {
		e = task{shape: l.Shape.canonical()}.reference(kernel.Tensors{Input: values, Weights: l.Weights, Bias: l.Bias})
		passed := l.passedOn(squares)
		values, squares = make([]float32, len(e.Values)), make([]float32, len(e.Values))
		for k := range e.Values {
			own := tolerances[i] * e.Magnitudes[k]
			e.Magnitudes[k] = math.Sqrt(own*own + passed[k])
			values[k] = float32(e.Values[k])
			squares[k] = float32(e.Magnitudes[k] * e.Magnitudes[k])
		}
	}
	return e
}

// steepest is more than the slope of any activation.
const steepest = 1.1

// passedOn returns the squares of the errors of a layer's outputs that come from
// errors of its inputs, given as squares.
func (l Layer) passedOn(squares []float32) []float64 {
	factor := float32(steepest)
	if g := l.Shape.GEMM; g != nil {
		factor *= g.alpha()
	}
	squared := make([]float32, len(l.Weights))
	for i, w := range l.Weights {
		squared[i] = factor * w * factor * w
	}
	plain := task{shape: l.Shape.canonical().plain()}
	return plain.reference(kernel.Tensors{Input: squares, Weights: squared}).Values
}
