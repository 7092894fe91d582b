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
	writes, err := d.check(j)
	if err != nil {
		return nil, jobError(err)
	}
	return d.SubmitJob(ctx, *j, writes...)
}

// check returns the buffers that a job writes, or an error where a program or a buffer is not
// of the device.
func (d *Device) check(j *job.Job) (writes named.Writes, err error) {
	for i := range j.Count() {
		each := j.At(i)
		if err := d.checkProgram(each.Program); err != nil {
			return nil, err
		}
		for k := range each.Buffers {
			b, err := d.checkBuffer(&each.Buffers[k])
			if err != nil {
				return nil, err
			}
			if !each.Buffers[k].ReadOnly {
				writes = append(writes, b)
			}
		}
	}
	return writes, nil
}

// SubmitJob submits a job with memory of the executor, as [Device] submits one: a deadline of ctx is
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
