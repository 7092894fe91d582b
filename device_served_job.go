//go:build linux

package shadercache

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/trace"
)

func (d *servedDevice) Submit(ctx context.Context, j *Job) (Pending, error) {
	job, reads, err := d.job(j)
	if err != nil {
		return nil, err
	}
	submit := trace.Begin(d.tracer, trace.Server, 0, trace.Send)
	p, err := d.client.Submit(ctx, job)
	submit.End()
	if err != nil {
		return nil, servedError(err)
	}
	return &servedPending{p, submit, reads}, nil
}

func (d *servedDevice) Run(ctx context.Context, j *Job) error { return run(ctx, d, j) }

// job returns the client's job, and the outputs that are to be read.
func (d *servedDevice) job(j *Job) (job *client.Job, reads []readOutput, err error) {
	job = &client.Job{}
	if job.Dispatch, err = d.dispatch(&j.Dispatch); err != nil {
		return nil, nil, err
	}
	for i := range j.Then {
		next, err := d.dispatch(&j.Then[i])
		if err != nil {
			return nil, nil, err
		}
		job.Then = append(job.Then, next)
	}
	for i := range j.Outputs {
		out := &j.Outputs[i]
		to, err := out.to()
		if err != nil {
			return nil, nil, err
		}
		if out.Read != nil {
			reads = append(reads, readOutput{to, out.Read})
		}
		job.Outputs = append(job.Outputs, client.Output{Binding: out.Binding, To: to})
	}
	for i := range j.Inputs {
		data, err := j.Inputs[i].data()
		if err != nil {
			return nil, nil, err
		}
		job.Inputs = append(job.Inputs, client.Input{Binding: j.Inputs[i].Binding, Data: data})
	}
	return job, reads, nil
}

// readOutput is an output that is copied to from and then read.
type readOutput struct {
	from []byte
	read func([]byte)
}

func (d *servedDevice) dispatch(of *Dispatch) (client.Dispatch, error) {
	program, ok := of.Program.(*servedProgram)
	if !ok || program.device != d {
		return client.Dispatch{}, fmt.Errorf("%w: a dispatch without a program of this device", ErrInvalid)
	}
	to := client.Dispatch{Program: program.Program, Groups: of.Groups, Params: of.Params, ParamsBinding: of.ParamsBinding}
	for _, u := range of.Uniforms {
		switch v := u.value.(type) {
		case int32:
			to.Uniforms = append(to.Uniforms, client.Int(u.name, v))
		case uint32:
			to.Uniforms = append(to.Uniforms, client.Uint(u.name, v))
		case float32:
			to.Uniforms = append(to.Uniforms, client.Float(u.name, v))
		}
	}
	for _, bound := range of.Buffers {
		b, ok := bound.Buffer.(*servedBuffer)
		if !ok || b.device != d {
			return to, fmt.Errorf("%w: binding %d has no buffer of this device", ErrInvalid, bound.Binding)
		}
		if bound.Offset < 0 || bound.Size < 0 {
			return to, fmt.Errorf("%w: %d bytes from %d of the buffer at binding %d", ErrInvalid, bound.Size, bound.Offset, bound.Binding)
		}
		to.Buffers = append(to.Buffers, client.Bound{
			Binding: bound.Binding, Buffer: b.Buffer, Offset: bound.Offset, Size: bound.Size, ReadOnly: bound.ReadOnly,
		})
	}
	return to, nil
}

// servedPending is a job of a server.
type servedPending struct {
	*client.Pending
	submit trace.Region // has ended
	reads  []readOutput // not read yet
}

// Wait replaces the method of the client's pending, for its errors.
func (p *servedPending) Wait(ctx context.Context) error {
	await := p.submit.Begin(trace.Await)
	defer func() { await.End() }()
	err := p.Pending.Wait(ctx)
	for err == nil && len(p.reads) > 0 {
		next := p.reads[0]
		p.reads = p.reads[1:] // even if it panics
		next.read(next.from)
	}
	return servedError(err)
}
