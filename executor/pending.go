package executor

import (
	"context"
	"runtime"
	"time"

	"github.com/shadercache/shadercache/internal/futex"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/trace"
)

// Pending is a submitted job. It belongs to one goroutine at a time and must not
// be copied. It has to be waited for or released. The zero Pending holds no job and
// is for SubmitInto.
type Pending struct {
	// Owner, where it is not nil when the job is submitted, ends with whom the job is for. Where the owners
	// of all jobs of a batch have ended, the GPU is given none of them.
	Owner context.Context

	batch *batch
	index int // of the job in the batch
	done  bool
	err   error
}

// Wait waits for the job and delivers its outputs: it copies them, or calls
// their Read functions. When ctx ends first it returns ctx.Err(), the job continues,
// and Wait may be called again. Otherwise further calls return the same error and
// deliver nothing.
//
// Errors: ErrTimeout, ErrNotSubmitted, job.ErrReleased,
// shader.ErrContextLost, shader.ErrClosed, and errors of the driver about the job.
func (p *Pending) Wait(ctx context.Context) error {
	if p.done {
		return p.err
	}
	if p.batch == nil {
		return ErrNotSubmitted
	}
	if tracer := p.batch.e.options.Tracer; trace.IsOn(tracer) {
		region := trace.Begin(tracer, trace.Executor, 0, trace.Wait)
		defer region.End()
		return p.wait(ctx)
	}
	return p.wait(ctx)
}

// wait is Wait for a job.
func (p *Pending) wait(ctx context.Context) error {
	b := p.batch
	if !b.resolved.Load() {
		if err := b.wait(ctx); err != nil {
			return err
		}
	}
	moved := !b.claim(p.index)
	defer p.giveUp(moved) // even if a Read panics
	p.err = b.deliver(p.index, moved)
	return p.err
}

// Ready reports whether Wait would return without waiting.
func (p *Pending) Ready() bool { return p.batch == nil || p.batch.resolved.Load() }

// Release discards the result. The job itself continues; its place in the slot is
// free when the GPU has finished it. Release does nothing after Wait has returned
// anything but ctx.Err().
func (p *Pending) Release() {
	if p.batch != nil {
		p.err = errReleased
		p.giveUp(!p.batch.claim(p.index))
	}
}

// giveUp ends the use of the batch by a job's owner, which has claimed the data or
// found it moved.
func (p *Pending) giveUp(moved bool) {
	b := p.batch
	p.done, p.batch = true, nil
	if !moved && b.held.Add(-1) != 0 {
		return
	}
	b.e.mu.Lock()
	if moved {
		b.movedOwners--
	}
	b.e.recycle(b)
	b.e.unlock()
}

// claim reserves the data of a job for its owner. It reports false when the data was
// moved out of the slot.
func (b *batch) claim(index int) bool {
	// A resolved batch accepts no jobs, so jobs is not reallocated.
	if b.resolved.Load() && !b.jobs[index].claimed.Swap(true) {
		return true
	}
	b.e.mu.Lock() // held by makeRoom until it has moved the data
	defer b.e.mu.Unlock()
	return !b.jobs[index].claimed.Swap(true)
}

// wait waits until the batch is resolved. It returns nil or ctx.Err().
func (b *batch) wait(ctx context.Context) error {
	pending := b.e.context.Pending()
	if pending == nil && b.waitShortly() {
		return nil
	}
	b.e.mu.Lock()
	if b.resolved.Load() {
		b.e.mu.Unlock()
		return nil
	}
	w := b.waiters.addWaiter()
	b.e.mu.Unlock()
	return b.e.sleep(ctx, w, &b.waiters, noTimeout, pending)
}

// waitShortly waits, where stages are short, in a way that is for short ones, and reports
// whether the batch is resolved.
func (b *batch) waitShortly() bool {
	switch last := time.Duration(b.e.lastStage.Load()); {
	case last == 0 || last >= maxThreadSleep:
		return false
	case last < maxSpin:
		return b.e.maySpin && b.spin()
	}
	return futex.MaySleep() && b.sleepThread()
}

// maxThreadSleep is the longest sleep of a thread in Wait, and by how much it notices late
// that its context has ended: no more than Go's timers are late.
const maxThreadSleep = futex.ShortSleep

// sleepThread sleeps for up to maxThreadSleep until the batch is resolved, if it is the next
// one to be, and reports whether it is resolved. The GL thread wakes the thread of the
// caller without Go's scheduler.
func (b *batch) sleepThread() bool {
	e := b.e
	e.mu.Lock()
	if resolved := b.resolved.Load(); resolved || len(e.mu.live) == 0 || e.mu.live[0] != b || b.slept {
		e.mu.Unlock()
		return resolved
	}
	b.slept = true
	b.sleeper.Prepare(maxThreadSleep)
	e.mu.Unlock()
	b.sleeper.Sleep(maxThreadSleep)
	e.mu.Lock()
	defer e.mu.Unlock()
	b.slept = false
	return b.resolved.Load()
}

// spin polls for up to maxSpin whether the batch is resolved, if it is the next one
// to be: sleeping and waking take longer than a short stage. It reports whether the
// batch is resolved. One goroutine spins at a time. The more have spun in a row without
// success the more of the next calls do not spin, because there may be too few CPUs.
func (b *batch) spin() bool {
	e := b.e
	if e.spinBackoff.Load() > 0 {
		e.spinBackoff.Add(-1)
		return false
	}
	e.mu.Lock()
	next := len(e.mu.live) > 0 && e.mu.live[0] == b
	e.mu.Unlock()
	if !next || runtime.GOMAXPROCS(0) == 1 || e.spinning.Swap(true) {
		return false
	}
	defer e.spinning.Store(false)
	for start := time.Now(); time.Since(start) < maxSpin; {
		for range 64 {
			if b.resolved.Load() {
				e.spinMisses.Store(0)
				return true
			}
		}
	}
	misses := min(e.spinMisses.Load()+1, mostSpinMisses)
	e.spinMisses.Store(misses)
	e.spinBackoff.Store(1<<(misses-1) - 1)
	return false
}

// mostSpinMisses is the number of spins in a row without success after which the number of
// calls of Wait that sleep at once, 15, doubles no more. A single one costs one sleep: Go's
// monitor stops the GL thread for a moment every 10 ms.
const mostSpinMisses = 5

// deliver delivers the outputs of a job of a resolved batch. Its data is claimed, or
// moved.
func (b *batch) deliver(index int, moved bool) error {
	if b.err != nil {
		return b.err
	}
	job := &b.jobs[index]
	if job.err != nil {
		return job.err
	}
	if !b.e.hostAccess.begin() {
		return errClosed
	}
	defer b.e.hostAccess.end()
	for i := range job.outputs {
		out := &b.outputs[job.firstOutput+i]
		data := out.moved
		if !moved {
			data = out.of(b.slot.down.Data)
		}
		if err := out.deliver(data); err != nil {
			return err
		}
	}
	return nil
}

// deliver delivers one output. It fails for a picture whose bounds have changed since Submit.
func (out *output) deliver(data []byte) error {
	switch {
	case out.read != nil:
		out.read(data)
	case out.picture != nil:
		return texel.DecodePicture(out.picture, out.format, data)
	default:
		hostCopy(out.to, data)
	}
	return nil
}
