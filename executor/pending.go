//go:build linux

package executor

import (
	"context"
	"runtime"
	"time"
)

// Pending is a submitted job. It belongs to one goroutine at a time and must not
// be copied. It has to be waited for or released. The zero Pending is no job,
// for SubmitInto.
type Pending struct {
	batch  *batch
	number int
	done   bool
	err    error
}

// Wait waits for the job and hands its outputs over: it copies them, or calls
// their Read functions. When ctx ends first it returns ctx.Err(), the job goes
// on, and Wait may be called again. After that it returns the same each time,
// and the outputs are handed over once only.
//
// Errors: ErrTimeout, ErrClosed, ErrNotSubmitted, shader.ErrContextLost, shader.ErrClosed, and
// what the driver says about the job.
func (p *Pending) Wait(ctx context.Context) error {
	if p.done {
		return p.err
	}
	b := p.batch
	if b == nil {
		return ErrNotSubmitted
	}
	if !b.settled.Load() {
		if err := b.wait(ctx); err != nil {
			return err
		}
	}
	moved := !b.claim(p.number)
	defer p.giveUp(moved) // even if a Read panics
	p.err = b.deliver(p.number, moved)
	return p.err
}

// Ready reports whether Wait would return without waiting.
func (p *Pending) Ready() bool { return p.batch == nil || p.batch.settled.Load() }

// Release gives up the result and the job's place in its slot, which is free for
// others as soon as the GPU has done with it. The job itself goes on. After Wait
// has returned anything but ctx.Err(), Release does nothing.
func (p *Pending) Release() {
	if p.batch != nil {
		p.err = ErrReleased
		p.giveUp(!p.batch.claim(p.number))
	}
}

// giveUp ends the job for its owner, who has claimed it, or found it moved.
func (p *Pending) giveUp(moved bool) {
	b := p.batch
	p.done, p.batch = true, nil
	if moved {
		b.e.mu.Lock()
		b.moved--
		b.e.recycle(b)
		b.e.unlock()
	} else if b.held.Add(-1) == 0 {
		b.e.mu.Lock()
		b.e.recycle(b)
		b.e.unlock()
	}
}

// claim makes the data of a job its owner's. It reports false when the data was
// moved out of the slot.
func (b *batch) claim(number int) bool {
	// Once settled, a batch takes no jobs, and jobs stays where it is.
	if b.settled.Load() && !b.jobs[number].claimed.Swap(true) {
		return true
	}
	b.e.mu.Lock() // makeRoom holds the lock until it has moved the data
	defer b.e.mu.Unlock()
	return !b.jobs[number].claimed.Swap(true)
}

// wait returns when the batch is settled, or ctx.Err().
func (b *batch) wait(ctx context.Context) error {
	work := b.e.context.Pending()
	if work == nil && b.e.brisk.Load() && b.linger() {
		return nil
	}
	b.e.mu.Lock()
	if b.settled.Load() {
		b.e.mu.Unlock()
		return nil
	}
	w := b.waiters.add()
	b.e.mu.Unlock()
	return b.e.sleep(ctx, w, &b.waiters, forever, work)
}

// linger looks for a while whether the batch is settled, where it is the next to
// be: sleeping and waking take longer than a short stage. One goroutine at a time
// does so, and after a while in vain the next ones do not: there may be too few
// CPUs for it.
func (b *batch) linger() bool {
	e := b.e
	if e.discouraged.Load() > 0 {
		e.discouraged.Add(-1)
		return false
	}
	e.mu.Lock()
	next := len(e.mu.live) > 0 && e.mu.live[0] == b
	e.mu.Unlock()
	if !next || runtime.GOMAXPROCS(0) == 1 || e.lingering.Swap(true) {
		return false
	}
	defer e.lingering.Store(false)
	for start := time.Now(); time.Since(start) < hotGap; {
		for range 64 {
			if b.settled.Load() {
				return true
			}
		}
	}
	e.discouraged.Store(discouragement)
	return false
}

// discouragement is how many calls of Wait sleep at once after one has looked in
// vain.
const discouragement = 16

// deliver hands the outputs of a job over. The batch is settled, the job claimed
// or moved.
func (b *batch) deliver(number int, moved bool) error {
	if b.err != nil {
		return b.err
	}
	job := &b.jobs[number]
	if job.err != nil {
		return job.err
	}
	if !b.e.gate.enter() {
		return ErrClosed
	}
	defer b.e.gate.leave()
	for i := range job.outputs {
		out := &b.outputs[job.firstOutput+i]
		switch {
		case !moved:
			out.deliver(b.slot.down.Data)
		case out.read != nil:
			out.read(out.moved)
		}
	}
	return nil
}

// deliver hands one output over from a slot's mapped memory.
func (out *delivery) deliver(mapped []byte) {
	src := mapped[out.at : out.at+out.size : out.at+out.size]
	if out.read != nil {
		out.read(src)
	} else {
		copy(out.to, src)
	}
}
