//go:build linux

package executor

import (
	"context"
	"time"
)

// Submit checks a job, takes its inputs and queues it. It waits while no slot
// has room, unless Options.FailWhenFull is set, and costs no allocation where
// the Pending does not escape. Every Pending has to be waited for or released:
// until then its job keeps its place in a slot. Where all places are taken by
// results that nobody fetches, Submit moves some of them elsewhere after a
// while, so that goroutines with many pending jobs get on, if slowly.
//
// It fails for a job that does not fit its programs, the device or a slot,
// naming the binding; and with ErrFull, ErrClosed, shader.ErrContextLost,
// shader.ErrClosed or ctx.Err(). Then nothing was queued.
func (e *Executor) Submit(ctx context.Context, job Job) (*Pending, error) {
	// One call only, so that Submit is inlined and the compiler can put the
	// Pending on the caller's stack.
	return e.submit(ctx, &job, new(Pending))
}

// SubmitInto is Submit for callers who keep many jobs pending and want no
// allocation for any: it uses their p, which is zero, or done with: waited for
// or released. It panics where p is still pending.
func (e *Executor) SubmitInto(ctx context.Context, job Job, p *Pending) error {
	if p.batch != nil {
		panic("executor: SubmitInto was given a Pending that is neither waited for nor released")
	}
	*p = Pending{}
	_, err := e.submit(ctx, &job, p)
	return err
}

// submit fills p in and returns it.
func (e *Executor) submit(ctx context.Context, job *Job, p *Pending) (*Pending, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n, err := e.check(job)
	if err != nil {
		return nil, err
	}
	if !e.gate.enter() {
		return nil, ErrClosed
	}
	defer e.gate.leave()
	b, number, at, err := e.reserve(ctx, job, n)
	if err != nil {
		return nil, err
	}
	e.counts.jobs.Add(1)
	p.batch, p.number = b, number
	b.write(job, number, at)
	return p, nil
}

// reserve finds room for a job and adds it to the open batch.
func (e *Executor) reserve(ctx context.Context, job *Job, n need) (b *batch, number, at int, err error) {
	var work <-chan struct{}
	for asked := false; ; {
		e.mu.Lock()
		if err := e.refusal(); err != nil {
			e.mu.Unlock()
			return nil, 0, 0, err
		}
		if b := e.room(n); b != nil {
			number, at = b.add(job, n)
			e.unlock()
			return b, number, at, nil
		}
		if e.options.FailWhenFull {
			e.unlock()
			return nil, 0, 0, ErrFull
		}
		if !asked {
			e.unlock()
			work, asked = e.context.Pending(), true // it may panic, and whoever does not wait needs none
			continue
		}
		w := e.mu.space.add()
		e.unlock()
		e.counts.blocked.Add(1)
		switch err := e.sleep(ctx, w, &e.mu.space, patience, work); err {
		case nil:
		case errImpatient:
			e.makeRoom()
		default:
			return nil, 0, 0, err
		}
	}
}

// patience is how long Submit waits for results to be fetched before it moves
// them.
const patience = 10 * time.Millisecond

// refusal says why no jobs are taken. mu is held.
func (e *Executor) refusal() error {
	if e.gate.closed.Load() {
		return ErrClosed
	}
	return e.mu.failure
}

// room is an open batch with room for a job, or nil. A slot that is too full
// is left behind, and what is in it starts. mu is held.
func (e *Executor) room(n need) *batch {
	if s := e.mu.slot; s != nil && !s.fits(n, &e.options) {
		if len(e.mu.free) == 0 {
			e.sealOpen() // nothing more fits: do not make it wait
			return nil
		}
		e.sealOpen()
		e.mu.slot = nil
	}
	if e.mu.slot == nil {
		last := len(e.mu.free) - 1
		if last < 0 {
			return nil
		}
		e.mu.slot = e.mu.free[last]
		e.mu.free = e.mu.free[:last]
	}
	if e.mu.open == nil {
		e.openBatch()
	}
	return e.mu.open
}

// openBatch makes a batch that takes jobs. mu is held.
func (e *Executor) openBatch() {
	var b *batch
	if last := len(e.mu.spare) - 1; last >= 0 {
		b = e.mu.spare[last]
		e.mu.spare = e.mu.spare[:last]
	} else {
		b = &batch{e: e}
	}
	e.mu.sequence++
	b.open(e.mu.slot, e.mu.sequence)
	e.mu.open = b
	e.mu.live = append(e.mu.live, b)
}

// sealOpen queues the open batch, if there is one. mu is held.
func (e *Executor) sealOpen() {
	b := e.mu.open
	if b == nil {
		return
	}
	e.mu.open = nil
	b.state = sealedBatch
	b.large = e.staged && (e.options.trial.pipeline || b.upBytes()+b.downBytes() >= largeBytes)
	b.sealed.Store(true)
	e.mu.queue = append(e.mu.queue, b)
	e.mu.call = e.eager.Load() // else the pump comes to it when a stage is complete
}

// largeBytes is how many bytes up and down make the stages worth their three
// fences: about what the bus moves in the time of one.
const largeBytes = 256 << 10

// write puts a job's inputs into mapped memory and says that they are there,
// even if a Fill panics: others are in the batch too.
func (b *batch) write(job *Job, number, at int) {
	written := false
	defer func() {
		if !written {
			b.claim(number)
			b.held.Add(-1)
		}
		b.commit()
	}()
	data := b.slot.up.Data
	for i := range job.Inputs {
		in := &job.Inputs[i]
		size, _ := in.size()
		if in.Fill != nil {
			in.Fill(data[at : at+size : at+size])
		} else {
			copy(data[at:], in.Data)
		}
		at += b.e.padded(size)
	}
	for i := range job.dispatches() {
		params := job.dispatch(i).Params
		copy(data[at:], params)
		at += b.e.padded(len(params))
	}
	written = true
}

// commit notes that a job's inputs are written, and calls the pump where it
// would start the job now.
func (b *batch) commit() {
	b.writing.Add(-1)
	if b.e.eager.Load() {
		b.e.call()
	}
}
