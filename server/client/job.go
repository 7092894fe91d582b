//go:build linux

package client

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Submit sends a job. It waits while the session has as many unanswered jobs as the server
// allows. ctx also gives the job its deadline, see the package documentation. Inputs and
// outputs that lie in a [Memory] of the client are used there. Every Pending, a *[Pending],
// has to be waited for or released.
func (c *Client) Submit(ctx context.Context, j *job.Job) (job.Pending, error) {
	p := &Pending{c: c}
	err := c.check(j)
	m := wire.Job{Deadline: deadlineOf(ctx), Job: *j}
	if err == nil {
		err = p.operands(ctx, &m)
	}
	return p.submit(ctx, wire.TypeJob, &m, c.orEnded(err))
}

// Run submits a job and waits for it.
func (c *Client) Run(ctx context.Context, j *job.Job) error {
	pending, err := c.Submit(ctx, j)
	return job.Wait(ctx, pending, err)
}

// operands fills in the operands of inputs and outputs. Large ones of the caller's memory go
// through shared memory.
func (p *Pending) operands(ctx context.Context, m *wire.Job) error {
	for i := range m.Counters {
		if to := m.Counters[i].To; len(to) > 0 {
			p.inline = append(p.inline, raw.Bytes(to))
		}
	}
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
		operand, err := p.output(ctx, to, out.Read)
		if err != nil {
			return err
		}
		m.Out = append(m.Out, wire.Binding{Binding: out.Binding, Operand: operand})
	}
	return p.texels(ctx, m)
}

// texels fills in the operands of texels.
func (p *Pending) texels(ctx context.Context, m *wire.Job) error {
	for i := range m.TextureInputs {
		if in := &m.TextureInputs[i]; in.Buffer != nil {
			m.TexelsIn = append(m.TexelsIn, in.Buffer.(*Buffer).operand(in.Offset, 0))
			continue
		}
		data, err := m.TextureInputs[i].Bytes()
		if err != nil {
			return err
		}
		operand, err := p.input(ctx, data)
		if err != nil {
			return err
		}
		m.TexelsIn = append(m.TexelsIn, operand)
	}
	for i := range m.TextureOutputs {
		if out := &m.TextureOutputs[i]; out.Buffer != nil {
			m.TexelsOut = append(m.TexelsOut, out.Buffer.(*Buffer).operand(out.Offset, 0))
			continue
		}
		to, read, err := m.TextureOutputs[i].Bytes()
		if err != nil {
			return err
		}
		operand, err := p.output(ctx, to, read)
		if err != nil {
			return err
		}
		m.TexelsOut = append(m.TexelsOut, operand)
	}
	return nil
}

// check returns an error where a program, a buffer or a texture of a job is not of the session, the
// protocol has no place for a name, or the job does not fit its programs and the GPU.
func (c *Client) check(j *job.Job) error {
	for i := range j.Count() {
		d := j.At(i)
		program, ok := d.Program.(*Program)
		switch {
		case !ok || program.c != c:
			return job.Foreign(d.Program)
		case program.released.Load():
			return fmt.Errorf("client: program %s: %w", program.name, job.ErrReleased)
		case max(len(j.Inputs), len(d.Uniforms), len(d.Blocks)) > math.MaxUint16:
			return fmt.Errorf("%w: at most %d inputs, uniforms and blocks can be sent", job.ErrInvalid, math.MaxUint16)
		}
		if err := checkNames(d); err != nil {
			return err
		}
	}
	if err := j.Resolve((*objects)(c)); err != nil {
		return err
	}
	return job.Check(j, &c.welcome.Jobs)
}

// checkNames returns an error for a name of a uniform that the protocol cannot carry.
func checkNames(d *job.Dispatch) (err error) {
	for k := range d.Uniforms {
		err = cmp.Or(err, checkName(d.Uniforms[k].Name))
	}
	for k := range d.Images {
		err = cmp.Or(err, checkName(d.Images[k].Name))
	}
	for k := range d.Textures {
		err = cmp.Or(err, checkName(d.Textures[k].Name))
	}
	return err
}

// objects finds the buffers and textures of a job.
type objects Client

func (o *objects) Buffer(of *job.Bindable, _ bool) error {
	if b, ok := (*of).(*Buffer); ok {
		return b.check((*Client)(o))
	}
	return job.ErrInvalid
}

func (o *objects) Texture(of *job.Texture) error {
	if t, ok := (*of).(*texture); ok {
		return t.check((*Client)(o))
	}
	return job.ErrInvalid
}
