package executor

import (
	"cmp"
	"context"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/trace"
)

// Submit checks a job, copies its inputs and queues it. It waits while no slot
// has room, at most until ctx ends, and does not allocate where the Pending does
// not escape. Every Pending has to be waited for or released: until then its job
// occupies its place in a slot. Where all places are taken by completed jobs that
// are not waited for, Submit moves some of their results to other memory after
// 1 ms, so that goroutines with many pending jobs make progress.
//
// It returns an error that names the binding for a job that does not fit its
// programs, the device or a slot; and shader.ErrContextLost,
// shader.ErrClosed or ctx.Err(). After an error nothing was queued.
func (e *Executor) Submit(ctx context.Context, j job.Job) (*Pending, error) {
	// One call only, so that Submit is inlined and the compiler can put the
	// Pending on the caller's stack.
	return e.submit(ctx, &j, new(Pending), false)
}

// SubmitInto is Submit for callers that keep many jobs pending without
// allocations: it uses the caller's p, which is zero, waited for or released. It
// panics where p is still pending. Where ctx has ended it does not wait, and submits
// the job where there is room now.
func (e *Executor) SubmitInto(ctx context.Context, j *job.Job, p *Pending) error {
	if p.batch != nil {
		panic("executor: SubmitInto was given a Pending that is neither waited for nor released")
	}
	*p = Pending{Owner: p.Owner}
	_, err := e.submit(ctx, j, p, true)
	return err
}

// submit fills p in and returns it. late submits after the end of ctx, too.
func (e *Executor) submit(ctx context.Context, j *job.Job, p *Pending, late bool) (*Pending, error) {
	if err := ctx.Err(); err != nil && !late {
		return nil, err
	}
	if trace.IsOn(e.options.Tracer) {
		region := trace.Begin(e.options.Tracer, trace.Executor, 0, trace.Submit)
		defer region.End()
		return e.submitJob(ctx, j, p, region.Task())
	}
	return e.submitJob(ctx, j, p, 0)
}

// submitJob is submit within the region of a task.
func (e *Executor) submitJob(ctx context.Context, j *job.Job, p *Pending, task uint64) (*Pending, error) {
	l := layouts.Get().(*layout)
	defer l.release()
	if err := e.checkJob(j, l); err != nil {
		return nil, err
	}
	if !e.hostAccess.begin() {
		return nil, errClosed
	}
	defer e.hostAccess.end()
	if e.staged && (l.upBytes+l.downBytes >= largeBytes || e.options.test.staged) {
		e.copierOnce.Do(func() { e.background.Go(e.loadCopier) }) // it may wait for compiles of others
	}
	l.owner = p.Owner
	b, index, up, err := e.reserve(ctx, j, l, task)
	if err != nil {
		return nil, err
	}
	e.counts.jobs.Add(1)
	p.batch, p.index = b, index
	fill := trace.Begin(e.options.Tracer, trace.Executor, task, trace.Fill)
	defer fill.End() // even if a Fill panics
	b.write(j, l, index, up)
	return p, nil
}

// reserve waits for room for a job and adds it to the open batch. It returns what
// batch.addJob returns.
func (e *Executor) reserve(ctx context.Context, j *job.Job, l *layout, task uint64) (b *batch, index, up int, err error) {
	var pending <-chan struct{}
	for asked := false; ; {
		e.mu.Lock()
		if err := e.submitError(); err != nil {
			e.mu.Unlock()
			return nil, 0, 0, err
		}
		if b := e.openBatchFor(l); b != nil {
			index, up = b.addJob(j, l)
			return b, index, up, nil
		}
		if !asked {
			e.unlock()
			pending, asked = e.context.Pending(), true // only before a wait: it panics inside a callback
			continue
		}
		w := e.mu.space.addWaiter()
		e.unlock()
		e.counts.blocked.Add(1)
		room := trace.Begin(e.options.Tracer, trace.Executor, task, trace.Room)
		err := e.sleep(ctx, w, &e.mu.space, moveResultsAfter, pending)
		room.End()
		if err == errWaitTimeout {
			e.makeRoom()
			err = nil
		}
		if err = cmp.Or(err, ctx.Err()); err != nil { // also where there is room since: its owner goes on
			return nil, 0, 0, err
		}
	}
}

// moveResultsAfter is the time that Submit waits for room before it moves results: less
// than a frame, since goroutines that all hold results while they submit wait for it.
const moveResultsAfter = time.Millisecond

// submitError returns the reason why no jobs are accepted, or nil. mu is held.
func (e *Executor) submitError() error {
	if e.hostAccess.closed.Load() {
		return errClosed
	}
	return e.mu.failure
}

// openBatchFor returns an open batch with room for a job, or nil. A slot without
// room is replaced, and its batch is sealed. Jobs that are not known to be short have a batch
// each. mu is held.
func (e *Executor) openBatchFor(l *layout) *batch {
	if s := e.mu.slot; s != nil && !s.fits(l, &e.options) {
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
	short := e.mu.short[l.work]
	if b := e.mu.open; b != nil && !(short && b.short) {
		e.sealOpen()
	}
	if e.mu.open == nil {
		e.openBatch(short)
	}
	return e.mu.open
}

// openBatch opens a batch in the current slot, for short jobs or for one. mu is held.
func (e *Executor) openBatch(short bool) {
	var b *batch
	if last := len(e.mu.spare) - 1; last >= 0 {
		b = e.mu.spare[last]
		e.mu.spare = e.mu.spare[:last]
	} else {
		b = &batch{e: e}
	}
	e.mu.sequence++
	b.open(e.mu.slot, e.mu.sequence, short)
	b.times = batchTimes{opened: e.traceTime()}
	e.mu.open = b
	e.mu.live = append(e.mu.live, b)
}

// sealOpen seals and queues the open batch, if there is one. mu is held.
func (e *Executor) sealOpen() {
	b := e.mu.open
	if b == nil {
		return
	}
	e.mu.open = nil
	b.state = sealedBatch
	b.large = e.hasCopier.Load() && (e.options.test.staged || b.upBytes()+b.downBytes() >= largeBytes)
	b.sealed.Store(true)
	e.mu.queue = append(e.mu.queue, b)
	e.mu.wakePump = e.submitWakesPump.Load() // else the pump starts it when a stage is complete
}

// largeBytes is the number of bytes, up and down, from which a batch runs in stages, once
// a job had as many: about what the bus transfers in the time of their three fences.
const largeBytes = 256 << 10

// write copies a job's inputs and parameters into mapped memory. The batch can start
// afterwards even if a Fill panics, because it holds other jobs too.
func (b *batch) write(j *job.Job, l *layout, index, up int) {
	written := false
	defer func() {
		if !written {
			b.claim(index)
			b.held.Add(-1)
		}
		b.endWrite()
	}()
	data := b.slot.up.Data[up : up+l.upBytes]
	for i, place := range l.inputs {
		if fill := j.Inputs[i].Fill; fill != nil {
			fill(place.of(data))
		} else {
			hostCopy(place.of(data), j.Inputs[i].Data)
		}
	}
	block := 0
	for i, place := range l.params {
		d := j.At(i)
		copy(place.of(data), d.Params)
		for k := range d.Blocks {
			copy(l.blocks[block].of(data), d.Blocks[k].Data)
			block++
		}
	}
	for i := range l.textureInputs {
		if l.textureInputs[i].memory != nil {
			continue
		}
		if err := j.TextureInputs[i].Encode(l.textureInputs[i].of(data)); err != nil {
			panic(err) // checkJob has checked it: the picture changes meanwhile
		}
	}
	for i, place := range l.counters {
		clear(place.up.of(data))
		copy(place.up.of(data), glctx.Bytes(j.Counters[i].Start))
	}
	written = true
}

// endWrite records that a job's inputs are written, and wakes the pump where it
// would start the job now.
func (b *batch) endWrite() {
	b.writing.Add(-1)
	if b.e.submitWakesPump.Load() {
		b.e.wakePump()
	}
}
