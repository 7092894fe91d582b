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
	"github.com/shadercache/shadercache/shader"
)

// Operands are the tensors of one run on the device, each at least as large as the
// problem needs.
type Operands struct {
	Input  *executor.Memory
	Output *executor.Memory // must not be any of the others

	// Weights and Bias replace those of SetWeights, for matrices that change from run
	// to run. Weights that the algorithm reads in another layout are then prepared in
	// each run. Default: those of SetWeights.
	Weights *executor.Memory
	Bias    *executor.Memory // where Weights is set and the problem has a bias
}

// Job returns one run of the plan with the weights that are set: input goes up and
// output comes down with the job. It fails for slices of other lengths than the
// problem's, without weights, and for a matrix product with a beta or with gaps in C:
// make a job of Dispatches for those.
//
// To produce the input, or to take the output, in the executor's own memory, replace
// Data of Inputs[0] by Fill, or To of Outputs[0] by Read. A job must fit into the
// executor's Options.SlotBytes.
func (p *Plan) Job(input, output []float32) (job.Job, error) {
	if p.keepsOutput {
		return job.Job{}, fmt.Errorf("conv2d: %v changes an output that is there: make a job of Plan.Dispatches", p.shape)
	}
	if err := checkAll(length{"input", len(input), p.input}, length{"output", len(output), p.output}); err != nil {
		return job.Job{}, err
	}
	chain, err := p.chain(Operands{})
	if err != nil {
		return job.Job{}, err
	}
	j := JobOf(chain...)
	if binding, ok := p.sequence.IndexOf(kernel.Input); ok {
		j.Inputs = []job.Input{{Binding: binding, Data: glctx.Bytes(input)}}
	}
	binding, _ := p.sequence.IndexOf(kernel.Output)
	j.Outputs = []job.Output{{Binding: binding, Dirty: true, To: glctx.Bytes(output)}}
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

// Dispatches returns one run of the plan on device memory, for a job of one or
// several layers. It fails for memory that is too small, and without weights.
func (p *Plan) Dispatches(o Operands) ([]job.Dispatch, error) {
	for _, m := range []struct {
		name   string
		memory *executor.Memory
		need   int
		must   bool
	}{
		{"input", o.Input, p.input, true},
		{"output", o.Output, p.output, true},
		{"weights", o.Weights, p.weights, false},
		{"bias", o.Bias, p.bias, o.Weights != nil && p.bias > 0},
	} {
		switch {
		case m.memory == nil && m.must:
			return nil, fmt.Errorf("conv2d: %v: there is no memory for the %s", p.shape, m.name)
		case m.memory != nil && m.memory.Size() < 4*m.need:
			return nil, fmt.Errorf("conv2d: %v: the memory for the %s has %d bytes, the problem needs %d",
				p.shape, m.name, m.memory.Size(), 4*m.need)
		case m.memory == o.Output && m.name != "output" && m.memory != nil:
			return nil, fmt.Errorf("conv2d: %v: the %s is the output too", p.shape, m.name)
		}
	}
	return p.chain(o)
}

// chain returns one run. Roles that o leaves out are left to inputs and outputs of
// the job.
func (p *Plan) chain(o Operands) ([]job.Dispatch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.released {
		return nil, ErrReleased
	}
	if o.Weights == nil {
		w := p.mu.weights
		if w == nil {
			return nil, ErrNoWeights
		}
		o.Weights, o.Bias = w.weights, w.bias
		return p.steps(o, w.packed), nil
	}
	if len(p.sequence.Prepare) == 0 {
		return p.steps(o, nil), nil
	}
	if p.mu.packed == nil {
		packed, err := p.newMemory(p.sequence.PackedLen)
		if err != nil {
			return nil, fmt.Errorf("conv2d: %v: %w", p.shape, err)
		}
		p.mu.packed = packed
	}
	return append(p.dispatches(p.sequence.Prepare, o, p.mu.packed), p.steps(o, p.mu.packed)...), nil
}

// steps returns the dispatches of one run after its preparation. One that does all of it
// performs the operations of the problem; of several, the share of each is not known.
func (p *Plan) steps(o Operands, packed *executor.Memory) []job.Dispatch {
	list := p.dispatches(p.sequence.Steps, o, packed)
	if len(list) == 1 {
		list[0].Operations = float64(p.flops)
	}
	return list
}

// dispatches returns steps with their programs and memory.
func (p *Plan) dispatches(steps []kernel.Step, o Operands, packed *executor.Memory) []job.Dispatch {
	memory := map[kernel.Role]*executor.Memory{
		kernel.Input: o.Input, kernel.Output: o.Output, kernel.Weights: o.Weights, kernel.Bias: o.Bias,
		kernel.Packed: packed, kernel.Workspace: p.workspace, kernel.Semaphores: p.semaphores,
	}
	need := map[kernel.Role]int{
		kernel.Input: p.input, kernel.Output: p.output, kernel.Weights: p.weights, kernel.Bias: p.bias,
		kernel.Packed: p.sequence.PackedLen, kernel.Workspace: p.sequence.WorkspaceLen, kernel.Semaphores: p.sequence.SemaphoreCount,
	}
	list := make([]job.Dispatch, 0, len(steps))
	for _, s := range steps {
		d := job.Dispatch{Host: s.Host}
		if s.Host == nil {
			d.Program = p.programs[s.Source.Key()]
			d.Groups = [3]uint32{uint32(s.Groups[0]), uint32(s.Groups[1]), uint32(s.Groups[2])}
			d.Uniforms = s.Uniforms
		}
		covered := map[uint32]bool{}
		for _, b := range s.Bindings {
			covered[b.Index] = true
			if m := memory[b.Role]; m != nil {
				d.Buffers = append(d.Buffers, job.Bound{
					Binding: b.Index, Buffer: m, Size: 4 * need[b.Role],
					ReadOnly: b.Role == kernel.Input || b.Role == kernel.Weights || b.Role == kernel.Bias,
				})
			}
		}
		if d.Program != nil {
			d.Buffers = append(d.Buffers, idle(d.Program, covered, o.Weights, packed)...)
		}
		list = append(list, d)
	}
	return list
}

// idle binds memory to the storage blocks that a program declares and does not use,
// which some drivers list nevertheless.
func idle(program job.Program, covered map[uint32]bool, candidates ...*executor.Memory) []job.Bound {
	var list []job.Bound
	for _, r := range program.Interface().Resources {
		if r.Kind != shader.StorageBuffer || covered[uint32(r.Binding)] {
			continue
		}
		for _, m := range candidates {
			if m != nil {
				list = append(list, job.Bound{Binding: uint32(r.Binding), Buffer: m, ReadOnly: true})
				break
			}
		}
	}
	return list
}

// run submits dispatches as one job and waits for it.
func (p *Plan) run(ctx context.Context, dispatches []job.Dispatch) error {
	pending, err := p.e.Submit(ctx, JobOf(dispatches...))
	if err != nil {
		return err
	}
	defer pending.Release()
	return pending.Wait(ctx)
}

// Run computes the problem once, from and to the host, whatever its size. Where the
// problem has a beta or gaps in C, output holds the values of C before. It makes
// memory on the device and waits for every copy: for a stream of inputs use Job.
func (p *Plan) Run(ctx context.Context, input, output []float32) error {
	return p.runTimed(ctx, input, output, &Timing{})
}

// runTimed is Run, and adds its cost to t.
func (p *Plan) runTimed(ctx context.Context, input, output []float32, t *Timing) error {
	dispatches := func(in, out *executor.Memory) ([]job.Dispatch, error) {
		return p.Dispatches(Operands{Input: in, Output: out})
	}
	return runOnce(ctx, p, p, dispatches, input, output, t)
}

// runOnce runs the dispatches from the input of one plan to the output of another.
func runOnce(ctx context.Context, first, last *Plan, dispatches func(in, out *executor.Memory) ([]job.Dispatch, error), input, output []float32, t *Timing) error {
	err := checkAll(length{"input", len(input), first.input}, length{"output", len(output), last.output})
	if err != nil {
		return err
	}
	start := time.Now()
	in, err := first.upload(input)
	if err != nil {
		return err
	}
	defer in.Release()
	out, err := last.outputMemory(ctx, output)
	if err != nil {
		return err
	}
	defer out.Release()
	run, err := dispatches(in, out)
	if err != nil {
		return err
	}
	t.Upload += time.Since(start)
	start = time.Now()
	if err := first.run(ctx, run); err != nil {
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
	m, err := p.e.NewMemory(4 * p.output)
	if err != nil {
		return nil, err
	}
	if p.keepsOutput {
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
