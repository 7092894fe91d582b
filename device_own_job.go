package shadercache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/shader"
)

// ownPending is a job of a GPU of this process.
type ownPending struct {
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

func (d *ownDevice) Submit(ctx context.Context, j *Job) (Pending, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	job, err := d.job(j)
	if err != nil {
		return nil, jobError(err)
	}
	return d.gpu.SubmitJob(ctx, job)
}

// SubmitJob submits a job of the executor, as [Device] submits one: a deadline of ctx is
// the deadline of the job, and operands that do not fit into a slot get memory of their
// own on the GPU.
func (g *GPU) SubmitJob(ctx context.Context, job executor.Job) (Pending, error) {
	p := &ownPending{}
	p.deadline, _ = ctx.Deadline()
	err := p.moveLarge(ctx, g.Executor, &job)
	if err == nil {
		err = g.Executor.SubmitInto(ctx, job, &p.pending)
	}
	if err != nil {
		p.free()
		return nil, jobError(err)
	}
	return p, nil
}

func (d *ownDevice) Run(ctx context.Context, j *Job) error { return run(ctx, d, j) }

// run submits a job and waits for it.
func run(ctx context.Context, d Device, j *Job) error {
	pending, err := d.Submit(ctx, j)
	if err != nil {
		return err
	}
	defer pending.Release()
	return pending.Wait(ctx)
}

// job returns the executor's job.
func (d *ownDevice) job(j *Job) (job executor.Job, err error) {
	for _, in := range j.Inputs {
		job.Inputs = append(job.Inputs, executor.Input{Binding: in.Binding, Data: in.Data, Fill: in.Fill, Size: in.Size})
	}
	for _, out := range j.Outputs {
		job.Outputs = append(job.Outputs, executor.Output{Binding: out.Binding, To: out.To, Read: out.Read, Size: out.Size})
	}
	if job.Dispatch, err = d.dispatch(&j.Dispatch); err != nil {
		return job, err
	}
	for i := range j.Then {
		next, err := d.dispatch(&j.Then[i])
		if err != nil {
			return job, err
		}
		job.Then = append(job.Then, next)
	}
	return job, nil
}

func (d *ownDevice) dispatch(of *Dispatch) (executor.Dispatch, error) {
	handle, err := d.program(of.Program)
	if err != nil {
		return executor.Dispatch{}, err
	}
	to := executor.Dispatch{Program: handle, Groups: of.Groups}
	if len(of.Params) > 0 {
		to.Params, to.ParamsBinding = of.Params, of.ParamsBinding
	}
	for _, u := range of.Uniforms {
		switch v := u.value.(type) {
		case int32:
			to.Uniforms = append(to.Uniforms, executor.Int(u.name, v))
		case uint32:
			to.Uniforms = append(to.Uniforms, executor.Uint(u.name, v))
		case float32:
			to.Uniforms = append(to.Uniforms, executor.Float(u.name, v))
		}
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
func (p *ownPending) moveLarge(ctx context.Context, e *executor.Executor, job *executor.Job) error {
	in, out := len(job.Params), 0
	for i := range job.Then {
		in += len(job.Then[i].Params)
	}
	for i := range job.Inputs {
		in += hostSize(job.Inputs[i].Data, job.Inputs[i].Size)
	}
	for i := range job.Outputs {
		out += hostSize(job.Outputs[i].To, job.Outputs[i].Size)
	}
	// Half of a slot leaves room for the padding of small operands.
	if room := e.SlotBytes() / 2; in <= room && out <= room {
		return nil
	}
	job.Then = slices.Clone(job.Then) // the caller's
	var inputs []executor.Input
	for _, each := range job.Inputs {
		if hostSize(each.Data, each.Size) < largeOperand {
			inputs = append(inputs, each)
			continue
		}
		data, err := (&Input{each.Binding, each.Data, each.Fill, each.Size}).data()
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
		bindAll(job, executor.Bound{Binding: each.Binding, Memory: memory, ReadOnly: true})
	}
	var outputs []executor.Output
	for _, each := range job.Outputs {
		if hostSize(each.To, each.Size) < largeOperand {
			outputs = append(outputs, each)
			continue
		}
		if !hasStorage(job, each.Binding) {
			return fmt.Errorf("output at binding %d: no program of the job has a storage block there", each.Binding)
		}
		to, err := (&Output{each.Binding, each.To, each.Read, each.Size}).to()
		if err != nil {
			return err
		}
		memory, err := p.newMemory(e, len(to))
		if err != nil {
			return err
		}
		p.late = append(p.late, lateOutput{memory, to, each.Read})
		bindAll(job, executor.Bound{Binding: each.Binding, Memory: memory})
	}
	job.Inputs, job.Outputs = inputs, outputs
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

func (p *ownPending) newMemory(e *executor.Executor, size int) (*executor.Memory, error) {
	memory, err := e.NewMemory(size)
	if err == nil {
		p.memory = append(p.memory, memory)
	}
	return memory, err
}

// bindAll binds memory for every dispatch that has nothing of its own at the binding.
func bindAll(job *executor.Job, b executor.Bound) {
	job.Memory = withBound(job.Memory, b)
	for i := range job.Then {
		job.Then[i].Memory = withBound(job.Then[i].Memory, b)
	}
}

func withBound(list []executor.Bound, b executor.Bound) []executor.Bound {
	if slices.ContainsFunc(list, func(other executor.Bound) bool { return other.Binding == b.Binding }) {
		return list
	}
	return append(slices.Clip(list), b)
}

// hasStorage reports whether a program of the job has a storage block at a binding.
func hasStorage(job *executor.Job, binding uint32) bool {
	has := func(d executor.Dispatch) bool {
		return slices.ContainsFunc(d.Program.Interface().Resources, func(r shader.Resource) bool {
			return r.Kind == shader.StorageBuffer && r.Binding == int32(binding)
		})
	}
	return has(job.Dispatch) || slices.ContainsFunc(job.Then, has)
}

func (p *ownPending) Wait(ctx context.Context) error {
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
	p.end(ownError(err))
	return p.err
}

func (p *ownPending) Release() {
	if !p.done {
		p.end(ErrReleased)
	}
}

// end ends the use of the job, whose result is err.
func (p *ownPending) end(err error) {
	p.done, p.err = true, err
	p.pending.Release()
	p.free()
}

// free releases the memory of the job. A job that runs retains what it uses.
func (p *ownPending) free() {
	for _, m := range p.memory {
		m.Release()
	}
	p.memory, p.late = nil, nil
}
