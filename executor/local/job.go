package local

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/named"
	"github.com/shadercache/shadercache/job"
)

// Pending is a job of the device: a job.Pending. One that was waited for or released may be
// used again, by Check or Prepare, as the zero Pending is. It must not be copied.
type Pending struct {
	executor.Pending

	// Writes are the buffers whose versions Start raises.
	Writes named.Writes

	// Spill has memory of this job alone, for operands that are too large for a slot.
	Spill executor.Spill

	device   *Device
	job      *job.Job  // that Start submits
	deadline time.Time // zero: none
	done     bool
	err      error
}

func (d *Device) Submit(ctx context.Context, j *job.Job) (job.Pending, error) {
	p := new(Pending)
	p.deadline, _ = ctx.Deadline()
	return p.submit(ctx, d, j, cmp.Or(ctx.Err(), d.Check(j, p)))
}

// SubmitJob submits a job with memory of the executor, as [Device] submits one: a deadline of ctx is
// the deadline of the job, and operands that do not fit into a slot get memory of their
// own on the GPU. It counts a write of each of writes.
func (d *Device) SubmitJob(ctx context.Context, j job.Job, writes ...*named.Buffer) (job.Pending, error) {
	p := &Pending{Writes: writes}
	p.deadline, _ = ctx.Deadline()
	return p.submit(ctx, d, &j, cmp.Or(ctx.Err(), d.err()))
}

// submit prepares and starts a job, unless its check failed with err.
func (p *Pending) submit(ctx context.Context, d *Device, j *job.Job, err error) (job.Pending, error) {
	if err == nil {
		err = d.Prepare(ctx, j, p)
	}
	if err == nil {
		err = p.Writes.Lock(ctx)
	}
	if err == nil {
		err = p.Start(ctx)
		p.Writes.Unlock()
	}
	if err != nil {
		p.Spill.Release()
		return nil, err
	}
	return p, nil
}

// Check returns an error where a program, a buffer or a texture of a job is not of the device, and
// collects the buffers that the job writes.
func (d *Device) Check(j *job.Job, p *Pending) error {
	if err := d.err(); err != nil {
		return err
	}
	p.device, p.done, p.err = d, false, nil
	for i := range j.Count() {
		if err := d.checkProgram(j.At(i).Program); err != nil {
			return err
		}
	}
	return j.Resolve((*objects)(p))
}

// objects finds the buffers and textures of a job.
type objects Pending

func (o *objects) Buffer(of *job.Bindable, written bool) error {
	b, ok := (*of).(*ownBuffer)
	switch {
	case !ok || b.device != o.device:
		return job.ErrInvalid
	case b.released.Load():
		return job.ErrReleased
	case written:
		o.Writes = append(o.Writes, b.Buffer)
	}
	return nil
}

func (o *objects) Texture(of *job.Texture) error {
	t, ok := (*of).(*ownTexture)
	if !ok || t.device != o.device {
		return job.ErrInvalid
	}
	return t.err()
}

// Prepare gives operands of a job that do not fit into a slot memory of their own. Start
// submits the job, which is not to be changed before; Release ends one that is not started.
func (d *Device) Prepare(ctx context.Context, j *job.Job, p *Pending) (err error) {
	p.device, p.done, p.err = d, false, nil
	p.job, err = p.Spill.Move(ctx, d.Executor, j, d.NewMemory)
	return d.JobError(err)
}

// Start submits a job that was prepared, and counts its writes. Writes is locked: nothing else
// changes a buffer between the change of its bytes, in the executor's order, and that of its
// version. It waits for room in a slot as Executor.SubmitInto does, and may be called again where ctx
// has ended.
func (p *Pending) Start(ctx context.Context) error {
	if err := p.device.Executor.SubmitInto(ctx, p.job, &p.Pending); err != nil {
		return p.device.JobError(err)
	}
	p.job = nil
	p.Writes.Raise()
	return nil
}

// Wait waits for the job and delivers its outputs: see job.Pending.
func (p *Pending) Wait(ctx context.Context) error {
	if p.done {
		return p.err
	}
	limited := ctx
	if !p.deadline.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, p.deadline)
		defer cancel()
	}
	err := p.Pending.Wait(limited)
	if err == nil {
		err = p.Spill.Deliver(limited)
	}
	expired := !p.deadline.IsZero() && !time.Now().Before(p.deadline)
	if err != nil && !expired && errors.Is(err, ctx.Err()) {
		return err // the job continues
	}
	p.end(p.device.Error(err))
	return p.err
}

// Release discards the result, and ends the use of a job that was not started.
func (p *Pending) Release() {
	if !p.done {
		p.err = job.ErrReleased
	}
	p.end(p.err)
}

// end ends the use of the job, whose result is err.
func (p *Pending) end(err error) {
	p.done, p.err = true, err
	p.Pending.Release()
	p.Spill.Release()
	clear(p.Writes)
	p.Writes, p.job = p.Writes[:0], nil
}

func (d *Device) Run(ctx context.Context, j *job.Job) error {
	pending, err := d.Submit(ctx, j)
	return job.Wait(ctx, pending, err)
}
