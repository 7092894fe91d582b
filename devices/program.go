package devices

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// program is a program of a group: one of each member that has it.
type program struct {
	job.Program // of the member that had it first
	group       *Group
	parts       []programPart
	check       func(ctx context.Context, gpu *shadercache.GPU, program uint32) error // may be nil

	mu struct {
		sync.Mutex
		released bool
	}
}

// programPart is the program of one member.
type programPart struct {
	done    chan struct{} // closed when the fields below are set
	program job.Program
	err     error
}

// Get returns the program of a source when one member has it. The other members get it in
// the background, and all of them where ctx ends. It returns an error where no member can: that of the first.
func (g *Group) Get(ctx context.Context, source *shader.Source) (job.Program, error) {
	return g.GetChecked(ctx, source, nil)
}

// GetChecked is Get with a check as that of shader.Source.WithCheck, which gets the GPU whose
// program it checks. Members that are a server's do not call it.
func (g *Group) GetChecked(ctx context.Context, source *shader.Source, check func(ctx context.Context, gpu *shadercache.GPU, program uint32) error) (job.Program, error) {
	if err := cmp.Or(ctx.Err(), g.check()); err != nil {
		return nil, err
	}
	p := &program{group: g, check: check, parts: make([]programPart, len(g.members))}
	for i := range p.parts {
		p.parts[i].done = make(chan struct{})
	}
	got := make(chan int, len(g.members)) // the ranks whose part is done
	for i, m := range g.members {
		// Programs are kept by the group: they outlive the caller's context.
		g.background.Go(func() {
			p.get(g.ctx, m, source)
			got <- i
		})
	}
	var err error
	if g.PollWhile(func() { err = p.awaitOne(ctx, got) }); err != nil {
		return nil, err
	}
	return p, nil
}

// get gets the program of a member.
func (p *program) get(ctx context.Context, m *member, source *shader.Source) {
	part := &p.parts[m.rank]
	device, err := m.awaitReady(ctx)
	if err == nil {
		part.program, err = device.Get(ctx, p.checked(device, source))
	}
	if _, compiles := errors.AsType[*shader.CompileError](err); !compiles {
		err = m.error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if part.err = err; err == nil && p.mu.released {
		part.program.Release()
	}
	close(part.done)
}

// checked returns the source with the check on a device.
func (p *program) checked(device shadercache.Device, source *shader.Source) *shader.Source {
	if p.check == nil {
		return source
	}
	gpu, err := device.Local()
	if err != nil {
		return source // a server has the GPU
	}
	return source.WithCheck(func(ctx context.Context, id uint32) error { return p.check(ctx, gpu, id) })
}

// awaitOne waits until a member has the program, or none can have it.
func (p *program) awaitOne(ctx context.Context, got <-chan int) error {
	for range p.parts {
		select {
		case rank := <-got:
			if part := &p.parts[rank]; part.err == nil {
				p.Program = part.program
				return nil
			}
		case <-ctx.Done():
			p.Release()
			return ctx.Err()
		}
	}
	p.Release()
	return p.parts[0].err
}

// has reports whether a member has the program now, or will never have it: then it returns
// the error.
func (p *program) has(rank int) (bool, error) {
	part := &p.parts[rank]
	if !isClosed(part.done) {
		return false, nil
	}
	return part.err == nil, part.err
}

// on waits for the program of a member.
func (p *program) on(ctx context.Context, rank int) (job.Program, error) {
	part := &p.parts[rank]
	if !isClosed(part.done) {
		if m := p.group.members[rank]; m.want != nil {
			go m.want()
		}
		var err error
		if p.group.PollWhile(func() {
			select {
			case <-part.done:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}); err != nil {
			return nil, err
		}
	}
	return part.program, part.err
}

// Release ends the use of the program on every member. It may be called again.
func (p *program) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.released {
		return
	}
	p.mu.released = true
	for i := range p.parts {
		if has, _ := p.has(i); has { // else get releases it
			p.parts[i].program.Release()
		}
	}
}

// On returns the program of one member of the group that made it, for jobs that are
// submitted to the member: see Group.Member. It waits until the member has it. Releasing
// the group's program releases it.
func On(ctx context.Context, of job.Program, rank int) (job.Program, error) {
	p, ok := of.(*program)
	if !ok {
		return nil, job.Foreign(of)
	}
	return p.on(ctx, rank)
}
