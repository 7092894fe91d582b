//go:build linux

package conv2d

import (
	"context"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// Operands are the tensors of one run on the device, each at least as large as the
// plan needs.
type Operands struct {
	Input  *executor.Memory
	Output *executor.Memory // must not be any of the others

	// Weights and Bias replace those of SetWeights, for matrices that change from run
	// to run, in a plan of one layer. Weights that the algorithm reads in another layout are
	// then prepared in each run. Default: those of SetWeights.
	Weights *executor.Memory
	Bias    *executor.Memory // where Weights is set and the problem has a bias

	packed *executor.Memory // the weights in the layout of the algorithm; nil: used as they are
}

// Job returns one run of the plan with the weights that are set: input goes up and
// output comes down with the job. It fails for slices of other lengths than the
// plan's, without weights, and where KeepsOutput: make a job of Dispatches then.
//
// To produce the input, or to take the output, in the executor's own memory, replace
// Data of Inputs[0] by Fill, or To of Outputs[0] by Read. A job must fit into the
// executor's Options.SlotBytes.
func (p *Plan) Job(input, output []float32) (job.Job, error) {
	if err := checkAll(length{"input", len(input), p.first().input}, length{"output", len(output), p.last().output}); err != nil {
		return job.Job{}, err
	}
	return p.JobOfBytes(glctx.Bytes(input), glctx.Bytes(output))
}

// JobOfBytes is Job for tensors that are bytes already, such as memory that processes
// share: 4 for each element, little endian.
func (p *Plan) JobOfBytes(input, output []byte) (job.Job, error) {
	first, last := p.first(), p.last()
	if last.keepsOutput {
		return job.Job{}, fmt.Errorf("conv2d: %v changes an output that is there: give it device memory for the output", last.shape)
	}
	if len(input) != 4*first.input || len(output) != 4*last.output {
		return job.Job{}, fmt.Errorf("conv2d: %d bytes in and %d out, the plan takes %d and makes %d", len(input), len(output), 4*first.input, 4*last.output)
	}
	dispatches, err := p.dispatches(Operands{})
	if err != nil {
		return job.Job{}, err
	}
	j := JobOf(dispatches...)
	if binding, ok := first.sequence.IndexOf(kernel.Input); ok {
		j.Inputs = []job.Input{{Binding: binding, Data: input}}
	}
	binding, _ := last.sequence.IndexOf(kernel.Output)
	j.Outputs = []job.Output{{Binding: binding, Dirty: true, To: output}}
	return j, nil
}

// JobOf returns a job without inputs and outputs of its own that makes dispatches in
// order, each after the writes of the one before: chains of several plans on device
// memory. It panics without dispatches.
func JobOf(dispatches ...job.Dispatch) job.Job {
	if len(dispatches) == 0 {
		panic("conv2d: a job without dispatches")
	}
	return job.Job{Dispatch: dispatches[0], Then: dispatches[1:]}
}

// Dispatches returns one run of the plan on device memory, for a job. It fails for memory
// that is too small, and without weights.
func (p *Plan) Dispatches(o Operands) ([]job.Dispatch, error) {
	first := p.first()
	if o.Weights != nil && len(p.parts) > 1 {
		return nil, fmt.Errorf("conv2d: weights come with a run of one layer, and the plan has %d", len(p.parts))
	}
	for _, m := range []struct {
		name   string
		memory *executor.Memory
		need   int
		must   bool
	}{
		{"input", o.Input, first.input, true},
		{"output", o.Output, p.last().output, true},
		{"weights", o.Weights, first.weights, false},
		{"bias", o.Bias, first.bias, o.Weights != nil && first.bias > 0},
	} {
		switch {
		case m.memory == nil && m.must:
			return nil, fmt.Errorf("conv2d: %v: there is no memory for the %s", first.shape, m.name)
		case m.memory != nil && m.memory.Size() < 4*m.need:
			return nil, fmt.Errorf("conv2d: %v: the memory for the %s has %d bytes, the plan needs %d",
				first.shape, m.name, m.memory.Size(), 4*m.need)
		case m.memory == o.Output && m.name != "output" && m.memory != nil:
			return nil, fmt.Errorf("conv2d: %v: the %s is the output too", first.shape, m.name)
		}
	}
	return p.dispatches(o)
}

// dispatches returns one run. Roles that o leaves out are left to inputs and outputs of
// the job.
func (p *Plan) dispatches(o Operands) ([]job.Dispatch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.mu.released:
		return nil, errReleased
	case o.Weights != nil:
		return p.dispatchesWith(o)
	case p.mu.version == 0:
		return nil, ErrNoWeights
	}
	var all []job.Dispatch
	for i, part := range p.parts {
		of := p.mu.weights[i]
		of.Input, of.Output = o.Input, o.Output
		if i > 0 {
			of.Input = p.between[i-1]
		}
		if i < len(p.between) {
			of.Output = p.between[i]
		}
		all = append(all, part.steps(of)...)
	}
	return all, nil
}

// dispatchesWith returns one run of the only layer with the weights of o. The caller holds mu.
func (p *Plan) dispatchesWith(o Operands) ([]job.Dispatch, error) {
	only := p.first()
	if len(only.sequence.Prepare) == 0 {
		return only.steps(o), nil
	}
	if p.mu.packed == nil {
		packed, err := only.newMemory(only.sequence.PackedLen)
		if err != nil {
			return nil, fmt.Errorf("conv2d: %v: %w", only.shape, err)
		}
		p.mu.packed = packed
	}
	o.packed = p.mu.packed
	return append(only.dispatches(only.sequence.Prepare, o), only.steps(o)...), nil
}

// run submits dispatches as one job and waits for it.
func run(ctx context.Context, e *executor.Executor, dispatches []job.Dispatch) error {
	pending, err := e.Submit(ctx, JobOf(dispatches...))
	return job.Wait(ctx, pending, err)
}

// Run computes the plan once, from and to the host, however large input and output are.
// Where KeepsOutput, output holds the values from before. It makes memory on the device and
// waits for every copy: for a stream of inputs use Job.
func (p *Plan) Run(ctx context.Context, input, output []float32) error {
	return p.runTimed(ctx, input, output, &Timing{})
}

// runTimed is Run, and adds its cost to t.
func (p *Plan) runTimed(ctx context.Context, input, output []float32, t *Timing) error {
	err := checkAll(length{"input", len(input), p.first().input}, length{"output", len(output), p.last().output})
	if err != nil {
		return err
	}
	start := time.Now()
	in, err := executor.BufferOf(p.e, input)
	if err != nil {
		return err
	}
	defer in.Release()
	out, err := p.outputMemory(ctx, output)
	if err != nil {
		return err
	}
	defer out.Release()
	p.using.RLock()
	defer p.using.RUnlock()
	dispatches, err := p.Dispatches(Operands{Input: in.Memory, Output: out})
	if err != nil {
		return err
	}
	t.Upload += time.Since(start)
	start = time.Now()
	if err := run(ctx, p.e, dispatches); err != nil {
		return err
	}
	t.Run = time.Since(start)
	start = time.Now()
	err = out.Download(ctx, 0, glctx.Bytes(output))
	t.Readback = time.Since(start)
	return err
}

// outputMemory makes the memory of an output: with the values from before where a run
// depends on them, else with Poison, so that values of an earlier run cannot pass as
// a result.
func (p *Plan) outputMemory(ctx context.Context, before []float32) (*executor.Memory, error) {
	m, err := p.e.NewMemory(4 * p.last().output)
	if err != nil {
		return nil, err
	}
	if p.KeepsOutput() {
		err = m.Upload(ctx, 0, glctx.Bytes(before))
	} else {
		err = m.Fill(ctx, Poison)
	}
	if err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}
