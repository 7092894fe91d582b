//go:build linux

package client

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// Submit sends a job. It waits while the session has as many unanswered jobs as the server
// allows. ctx also gives the job its deadline, see the package documentation. Inputs and
// outputs that lie in a [Memory] of the client are used there. Every Pending, a *[Pending],
// has to be waited for or released.
func (c *Client) Submit(ctx context.Context, j *job.Job) (job.Pending, error) {
	p := &Pending{c: c, sent: wire.TypeJob}
	m := wire.Job{Deadline: deadlineOf(ctx), Dispatches: make([]wire.Dispatch, 0, 1+len(j.Then))}
	err := p.operands(ctx, &m, j)
	for i := range j.Count() {
		d := j.At(i)
		if err == nil {
			err = c.add(&m, d)
		}
	}
	if err != nil {
		p.unstage(true)
		return nil, c.orEnded(err)
	}
	if err := p.submit(ctx, &m); err != nil {
		return nil, err
	}
	return p, nil
}

// Run submits a job and waits for it.
func (c *Client) Run(ctx context.Context, j *job.Job) error {
	pending, err := c.Submit(ctx, j)
	return job.Wait(ctx, pending, err)
}

// operands fills in inputs and outputs. Large ones of the caller's memory go through
// shared memory.
func (p *Pending) operands(ctx context.Context, m *wire.Job, j *job.Job) error {
	for i := range j.Inputs {
		data, err := j.Inputs[i].Bytes()
		if err != nil {
			return err
		}
		operand, err := p.input(ctx, data)
		if err != nil {
			return err
		}
		m.Inputs = append(m.Inputs, wire.Binding{Binding: j.Inputs[i].Binding, Operand: operand})
	}
	for i := range j.Outputs {
		out := &j.Outputs[i]
		to, err := out.Bytes()
		if err != nil {
			return err
		}
		if out.Read != nil {
			p.reads = append(p.reads, readOutput{to, out.Read})
		}
		operand, err := p.output(ctx, to)
		if err != nil {
			return err
		}
		m.Outputs = append(m.Outputs, wire.Binding{Binding: out.Binding, Operand: operand})
	}
	return nil
}

// add adds a dispatch to the message of a job.
func (c *Client) add(to *wire.Job, d *job.Dispatch) error {
	program, ok := d.Program.(*Program)
	switch {
	case !ok || program.c != c:
		return job.Foreign(d.Program)
	case program.released.Load():
		return fmt.Errorf("client: program %s: %w", program.name, job.ErrReleased)
	}
	m := wire.Dispatch{Program: program.id, Groups: d.Groups, Params: d.Params, ParamsBinding: d.ParamsBinding}
	for i := range d.Uniforms {
		u := &d.Uniforms[i]
		bits, ok := u.One()
		kind := uniformKind(u.Base())
		if !ok || kind == 0 {
			return fmt.Errorf("%w: uniform %s: a server takes single int, uint, float and bool values: put others into a uniform block", job.ErrInvalid, u.Name)
		}
		if err := checkName(u.Name); err != nil {
			return err
		}
		m.Uniforms = append(m.Uniforms, wire.Uniform{Kind: kind, Bits: bits, Name: []byte(u.Name)})
	}
	for _, bound := range d.Buffers {
		b, ok := bound.Buffer.(*Buffer)
		switch {
		case !ok || b.c != c:
			return job.ForeignBuffer(bound.Binding)
		case b.released.Load():
			return fmt.Errorf("client: buffer at binding %d: %w", bound.Binding, job.ErrReleased)
		case bound.Size < 0:
			return fmt.Errorf("%w: program %s: memory at binding %d: bytes %d to %d of %d", job.ErrInvalid, program.name, bound.Binding, bound.Offset, bound.Offset+bound.Size, b.Size())
		}
		if bound.Offset < 0 {
			bound.Size = 0 // it is refused whatever that is, and the end of a range has to fit into 64 bits
		}
		m.Buffers = append(m.Buffers, wire.Binding{Binding: bound.Binding, ReadOnly: bound.ReadOnly, Operand: b.operand(bound.Offset, bound.Size)})
	}
	to.Dispatches = append(to.Dispatches, m)
	return nil
}

// uniformKind returns the type that the protocol has for a base, 0 for none.
func uniformKind(base shader.Base) wire.UniformKind {
	switch base {
	case shader.IntBase, shader.BoolBase:
		return wire.UniformInt
	case shader.UintBase:
		return wire.UniformUint
	case shader.FloatBase:
		return wire.UniformFloat
	}
	return 0
}
