package local

import (
	"context"
	"errors"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/named"
	"github.com/shadercache/shadercache/job"
)

// pendingJob is a job of a GPU of this process.
type pendingJob struct {
	pending  executor.Pending
	deadline time.Time // zero: none
	spill    executor.Spill
	done     bool
	err      error
}

func (d *Device) Submit(ctx context.Context, j *job.Job) (job.Pending, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	own, err := d.jobOf(j)
	if err != nil {
		return nil, jobError(err)
	}
	var writes named.Writes
	for each := range j.Dispatches() {
		for i := range each.Buffers {
			if b := &each.Buffers[i]; !b.ReadOnly {
				writes = append(writes, b.Buffer.(*ownBuffer).Buffer)
			}
		}
	}
	return d.SubmitJob(ctx, own, writes...)
}

// SubmitJob submits a job of the executor, as [Device] submits one: a deadline of ctx is
// the deadline of the job, and operands that do not fit into a slot get memory of their
// own on the GPU. It counts a write of each of writes.
func (d *Device) SubmitJob(ctx context.Context, j executor.Job, writes ...*named.Buffer) (job.Pending, error) {
	p := &pendingJob{}
	p.deadline, _ = ctx.Deadline()
	err := p.spill.Move(ctx, d.Executor, &j, d.Executor.NewMemory)
	if err == nil {
		err = d.submit(ctx, j, &p.pending, writes)
	}
	if err != nil {
		p.spill.Release()
		return nil, jobError(err)
	}
	return p, nil
}

// submit submits a job that writes buffers, and counts the writes: nothing else changes one
// between the change of its bytes, in the executor's order, and that of its version.
func (d *Device) submit(ctx context.Context, j executor.Job, p *executor.Pending, writes named.Writes) error {
	writes.Lock(true)
	defer func() { writes.Unlock() }() // the list is shorter where one was twice in it
	err := d.Executor.SubmitInto(ctx, j, p)
	if err == nil {
		writes.Raise()
	}
	return err
}

func (d *Device) Run(ctx context.Context, j *job.Job) error {
	pending, err := d.Submit(ctx, j)
	return job.Wait(ctx, pending, err)
}

// jobOf returns the executor's job.
func (d *Device) jobOf(j *job.Job) (to executor.Job, err error) {
	to.Inputs, to.Outputs = j.Inputs, j.Outputs
	if to.Dispatch, err = d.dispatch(&j.Dispatch); err != nil {
		return to, err
	}
	for i := range j.Then {
		next, err := d.dispatch(&j.Then[i])
		if err != nil {
			return to, err
		}
		to.Then = append(to.Then, next)
	}
	return to, nil
}

func (d *Device) dispatch(of *job.Dispatch) (executor.Dispatch, error) {
	handle, err := d.program(of.Program)
	if err != nil {
		return executor.Dispatch{}, err
	}
	to := executor.Dispatch{Program: handle, Groups: of.Groups, Uniforms: of.Uniforms}
	if len(of.Params) > 0 {
		to.Params, to.ParamsBinding = of.Params, of.ParamsBinding
	}
	for i := range of.Buffers {
		bound, err := d.bound(&of.Buffers[i])
		if err != nil {
			return to, err
		}
		to.Memory = append(to.Memory, bound)
	}
	return to, nil
}

func (p *pendingJob) Wait(ctx context.Context) error {
	if p.done {
		return p.err
	}
	limited := ctx
	if !p.deadline.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, p.deadline)
		defer cancel()
	}
	err := p.pending.Wait(limited)
	if err == nil {
		err = p.spill.Deliver(limited)
	}
	expired := !p.deadline.IsZero() && !time.Now().Before(p.deadline)
	if err != nil && !expired && errors.Is(err, ctx.Err()) {
		return err // the job continues
	}
	p.end(deviceError(err))
	return p.err
}

func (p *pendingJob) Release() {
	if !p.done {
		p.end(job.ErrReleased)
	}
}

// end ends the use of the job, whose result is err.
func (p *pendingJob) end(err error) {
	p.done, p.err = true, err
	p.pending.Release()
	p.spill.Release()
}
