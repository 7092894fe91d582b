//go:build linux

package conv2d

import (
	"cmp"
	"context"
	"slices"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// part computes one layer of a plan: its algorithm is chosen, and it has programs and memory.
type part struct {
	task
	e          *executor.Executor
	choice     Choice
	basis      Basis   // reason for the choice
	tolerance  float64 // of results, as Compare measures it
	sequence   kernel.Sequence
	programs   map[shader.Key]*cache.Handle
	workspace  *executor.Memory // nil: none
	semaphores *executor.Memory // likewise; 0 between two dispatches
	origins    []ProgramOrigin  // sorted by name
}

func newPart(ctx context.Context, e *executor.Executor, programs executor.Programs, l Layer, o PlanOptions) (*part, error) {
	p, err := choosePart(ctx, e.Context(), programs, l, o)
	if err != nil {
		return nil, err
	}
	p.e = e
	if err := p.acquire(ctx, programs); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// choosePart returns a part that has no executor, programs and memory yet.
func choosePart(ctx context.Context, c *glctx.Context, programs executor.Programs, l Layer, o PlanOptions) (*part, error) {
	o.Choice = cmp.Or(l.Choice, o.Choice)
	t, err := newTask(l.Shape, c.Info())
	if err != nil {
		return nil, err
	}
	t = t.restrict(o.restriction())
	p := &part{task: t, programs: map[shader.Key]*cache.Handle{}}
	if p.choice, p.basis, err = o.choose(ctx, c, programs, t); err != nil {
		return nil, err
	}
	p.sequence, p.tolerance, err = t.build(p.choice)
	return p, err
}

// acquire gets programs and memory.
func (p *part) acquire(ctx context.Context, programs executor.Programs) error {
	if err := p.getChecked(ctx, programs); err != nil {
		return err
	}
	var err error
	if n := p.sequence.WorkspaceLen; n > 0 {
		if p.workspace, err = p.newMemory(n); err != nil {
			return err
		}
	}
	if n := p.sequence.SemaphoreCount; n > 0 {
		p.semaphores, err = p.newMemory(n)
	}
	return err
}

// getPrograms gets a handle for each program.
func (p *part) getPrograms(ctx context.Context, programs executor.Programs) error {
	for _, source := range p.sequence.Sources() {
		if p.programs[source.Key()] != nil {
			continue
		}
		handle, err := programs.Get(ctx, source)
		if err != nil {
			return err
		}
		p.programs[source.Key()] = handle
		p.origins = append(p.origins, ProgramOrigin{handle.Name(), handle.Key(), handle.Origin()})
	}
	slices.SortFunc(p.origins, func(a, b ProgramOrigin) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Key[:], b.Key[:]))
	})
	return nil
}

// releasePrograms releases the handles.
func (p *part) releasePrograms() {
	for _, handle := range p.programs {
		handle.Release()
	}
	clear(p.programs)
	p.origins = nil
}

// release releases programs and memory.
func (p *part) release() {
	p.releasePrograms()
	release(p.workspace, p.semaphores)
}

// newMemory makes memory for n elements, rounded up to whole vectors of 4.
func (p *part) newMemory(n int) (*executor.Memory, error) { return p.e.NewMemory(4 * roundUp(n, 4)) }

// stepCount is the number of dispatches of one run and its preparation.
func (p *part) stepCount() int { return len(p.sequence.Prepare) + len(p.sequence.Steps) }

// steps returns the dispatches of one run after its preparation. One that does all of it
// performs the operations of the problem; of several, the share of each is not known.
func (p *part) steps(o Operands) []job.Dispatch {
	list := p.dispatches(p.sequence.Steps, o)
	if len(list) == 1 {
		list[0].Operations = float64(p.flops)
	}
	return list
}

// dispatches returns steps with their programs and memory. Roles that o leaves out are left
// to inputs and outputs of the job.
func (p *part) dispatches(steps []kernel.Step, o Operands) []job.Dispatch {
	bound := map[kernel.Role]job.Bound{
		kernel.Input:      {Buffer: o.Input, Size: 4 * p.input, ReadOnly: true},
		kernel.Weights:    {Buffer: o.Weights, Size: 4 * p.weights, ReadOnly: true},
		kernel.Bias:       {Buffer: o.Bias, Size: 4 * p.bias, ReadOnly: true},
		kernel.Output:     {Buffer: o.Output, Size: 4 * p.output},
		kernel.Packed:     {Buffer: o.packed, Size: 4 * p.sequence.PackedLen},
		kernel.Workspace:  {Buffer: p.workspace, Size: 4 * p.sequence.WorkspaceLen},
		kernel.Semaphores: {Buffer: p.semaphores, Size: 4 * p.sequence.SemaphoreCount},
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
			if at := bound[b.Role]; at.Buffer != (*executor.Memory)(nil) { // else the job has it
				at.Binding = b.Index
				d.Buffers = append(d.Buffers, at)
			}
		}
		if d.Program != nil {
			d.Buffers = append(d.Buffers, idle(d.Program, covered, o.Weights, o.packed)...)
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
