package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

// pendingJob is a job of a GPU of this process.
type pendingJob struct {
	pending  executor.Pending
	deadline time.Time // zero: none
	memory   []*executor.Memory
	late     []lateOutput
	done     bool
	err      error
}

// lateOutput is an output that is copied when the job is done.
type lateOutput struct {
	from *executor.Memory
	to   []byte
	read func([]byte) // nil: it is copied only
}

// largeOperand is the size from which an operand of a job that does not fit into a slot of
// the executor gets memory of its own.
const largeOperand = 64 << 10

func (d *Device) Submit(ctx context.Context, j *job.Job) (job.Pending, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	own, err := d.jobOf(j)
	if err != nil {
		return nil, jobError(err)
	}
	pending, err := d.SubmitJob(ctx, own)
	if err != nil {
		return nil, err
	}
	for each := range j.Dispatches() {
		for i := range each.Buffers {
			if b := &each.Buffers[i]; !b.ReadOnly {
				b.Buffer.(*ownBuffer).wrote()
			}
		}
	}
	return pending, nil
}

// SubmitJob submits a job of the executor, as [Device] submits one: a deadline of ctx is
// the deadline of the job, and operands that do not fit into a slot get memory of their
// own on the GPU.
func (d *Device) SubmitJob(ctx context.Context, j executor.Job) (job.Pending, error) {
	p := &pendingJob{}
	p.deadline, _ = ctx.Deadline()
	err := p.moveLarge(ctx, d.Executor, &j)
	if err == nil {
		err = d.Executor.SubmitInto(ctx, j, &p.pending)
	}
	if err != nil {
		p.free()
		return nil, jobError(err)
	}
	return p, nil
}

func (d *Device) Run(ctx context.Context, j *job.Job) error {
	pending, err := d.Submit(ctx, j)
	return job.Wait(ctx, pending, err)
}

// jobOf returns the executor's job.
func (d *Device) jobOf(j *job.Job) (to executor.Job, err error) {
	to.Inputs = j.Inputs
	for _, out := range j.Outputs {
		to.Outputs = append(to.Outputs, executor.Output{Binding: out.Binding, To: out.To, Read: out.Read, Size: out.Size, Zero: true})
	}
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

// moveLarge gives the large operands of a job that does not fit into a slot memory of
// their own.
func (p *pendingJob) moveLarge(ctx context.Context, e *executor.Executor, j *executor.Job) error {
	in, out := len(j.Params), 0
	for i := range j.Then {
		in += len(j.Then[i].Params)
	}
	for i := range j.Inputs {
		in += hostSize(j.Inputs[i].Data, j.Inputs[i].Size)
	}
	for i := range j.Outputs {
		out += hostSize(j.Outputs[i].To, j.Outputs[i].Size)
	}
	// Half of a slot leaves room for the padding of small operands.
	if room := e.SlotBytes() / 2; in <= room && out <= room {
		return nil
	}
	j.Then = slices.Clone(j.Then) // the caller's
	var inputs []executor.Input
	for _, each := range j.Inputs {
		if hostSize(each.Data, each.Size) < largeOperand {
			inputs = append(inputs, each)
			continue
		}
		if _, err := j.CheckSize(each.Binding, hostSize(each.Data, each.Size)); err != nil {
			return err
		}
		data, err := each.Bytes()
		if err != nil {
			return err
		}
		memory, err := p.newMemory(e, len(data))
		if err == nil {
			err = memory.UploadInPieces(ctx, 0, data)
		}
		if err != nil {
			return err
		}
		bindAll(j, executor.Bound{Binding: each.Binding, Memory: memory, ReadOnly: true})
	}
	var outputs []executor.Output
	for _, each := range j.Outputs {
		if hostSize(each.To, each.Size) < largeOperand {
			outputs = append(outputs, each)
			continue
		}
		used, err := j.CheckSize(each.Binding, hostSize(each.To, each.Size))
		if err == nil && !used {
			err = fmt.Errorf("output at binding %d: no program of the job has a storage block there", each.Binding)
		}
		if err != nil {
			return err
		}
		to, err := (&job.Output{Binding: each.Binding, To: each.To, Read: each.Read, Size: each.Size}).Bytes()
		if err != nil {
			return err
		}
		memory, err := p.newMemory(e, len(to))
		if err != nil {
			return err
		}
		p.late = append(p.late, lateOutput{memory, to, each.Read})
		bindAll(j, executor.Bound{Binding: each.Binding, Memory: memory})
	}
	j.Inputs, j.Outputs = inputs, outputs
	return nil
}

// hostSize returns the size of an operand: of the slice, or else of what a function fills or
// reads.
func hostSize(slice []byte, size int) int {
	if slice != nil {
		return len(slice)
	}
	return max(size, 0)
}

func (p *pendingJob) newMemory(e *executor.Executor, size int) (*executor.Memory, error) {
	memory, err := e.NewMemory(size)
	if err == nil {
		p.memory = append(p.memory, memory)
	}
	return memory, err
}

// bindAll binds memory for every dispatch that has nothing of its own at the binding.
func bindAll(j *executor.Job, b executor.Bound) {
	j.Memory = withBound(j.Memory, b)
	for i := range j.Then {
		j.Then[i].Memory = withBound(j.Then[i].Memory, b)
	}
}

func withBound(list []executor.Bound, b executor.Bound) []executor.Bound {
	if slices.ContainsFunc(list, func(other executor.Bound) bool { return other.Binding == b.Binding }) {
		return list
	}
	return append(slices.Clip(list), b)
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
	for _, out := range p.late {
		if err == nil {
			err = out.from.DownloadInPieces(limited, 0, out.to)
		}
	}
	for _, out := range p.late {
		if err == nil && out.read != nil {
			out.read(out.to)
		}
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
	p.free()
}

// free releases the memory of the job. A job that runs retains what it uses.
func (p *pendingJob) free() {
	for _, m := range p.memory {
		m.Release()
	}
	p.memory, p.late = nil, nil
}
