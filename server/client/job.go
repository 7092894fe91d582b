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
	err := c.check(j)
	m := wire.Job{Deadline: deadlineOf(ctx), Job: *j}
	if err == nil {
		err = p.operands(ctx, &m)
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

// operands fills in the operands of inputs and outputs. Large ones of the caller's memory go
// through shared memory.
func (p *Pending) operands(ctx context.Context, m *wire.Job) error {
	for i := range m.Inputs {
		data, err := m.Inputs[i].Bytes()
		if err != nil {
			return err
		}
		operand, err := p.input(ctx, data)
		if err != nil {
			return err
		}
		m.In = append(m.In, wire.Binding{Binding: m.Inputs[i].Binding, Operand: operand})
	}
	for i := range m.Outputs {
		out := &m.Outputs[i]
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
		m.Out = append(m.Out, wire.Binding{Binding: out.Binding, Operand: operand})
	}
	return nil
}

// check returns an error where a program or a buffer of a job is not of the session, the
// protocol has no place for what it binds, or it does not fit its programs and the GPU.
func (c *Client) check(j *job.Job) error {
	for i := range j.Count() {
		d := j.At(i)
		program, ok := d.Program.(*Program)
		switch {
		case !ok || program.c != c:
			return job.Foreign(d.Program)
		case program.released.Load():
			return fmt.Errorf("client: program %s: %w", program.name, job.ErrReleased)
		case program.beyond != "":
			return fmt.Errorf("%w: %s", job.ErrInvalid, program.beyond)
		case d.Host != nil || d.Indirect != nil || len(d.Blocks)+len(d.Images)+len(d.Textures) > 0:
			return fmt.Errorf("%w: program %s: a server takes no Host, Indirect, Blocks, Images or Textures", job.ErrInvalid, program.name)
		}
		for k := range d.Uniforms {
			u := &d.Uniforms[k]
			if _, ok := u.One(); !ok || u.Base() == shader.DoubleBase {
				return fmt.Errorf("%w: uniform %s: a server takes single int, uint, float and bool values: put others into a uniform block", job.ErrInvalid, u.Name)
			}
			if err := checkName(u.Name); err != nil {
				return err
			}
		}
		for k := range d.Buffers {
			bound := &d.Buffers[k]
			b, ok := bound.Buffer.(*Buffer)
			switch {
			case !ok || b.c != c:
				return job.ForeignBuffer(bound.Binding)
			case b.released.Load():
				return fmt.Errorf("client: buffer at binding %d: %w", bound.Binding, job.ErrReleased)
			}
		}
	}
	if len(j.TextureInputs)+len(j.TextureOutputs)+len(j.Counters) > 0 {
		return fmt.Errorf("%w: a server takes no TextureInputs, TextureOutputs or Counters", job.ErrInvalid)
	}
	return job.Check(j, &c.welcome.Jobs)
}
