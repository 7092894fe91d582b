//go:build linux

package executor

import (
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// pipeline is what the GL thread knows. Nobody else touches it.
type pipeline struct {
	e        *Executor
	made     time.Time
	freed    bool
	stages   []stage // on the GPU, oldest first
	uploaded *batch  // its inputs are on the device, or will be by the last stage
	computed *batch  // likewise its outputs, and they have to come down
	record   recorder
	queries  []glctx.Query // spare
	reached  fence
	lingers  bool // Wait may look before it sleeps: it takes nothing from the GPU

	completed time.Duration // when the last stage was seen complete
	progress  time.Duration // when anything was, or work began after idling
	expected  expectations
}

// fence looks at a fence without waiting, as GL.WaitFence with a timeout of 0.
type fence func(gl *glctx.GL, f glctx.Fence) (bool, error)

// maxStages is how many stages are on the GPU: one at work, and one behind it,
// so that the GPU goes on while the host looks away. More would only make
// batches smaller.
const maxStages = 2

func (p *pipeline) prepare(gl *glctx.GL, e *Executor) {
	p.e, p.made = e, time.Now()
	p.reached = e.options.trial.fences
	if p.reached == nil {
		p.reached = func(gl *glctx.GL, f glctx.Fence) (bool, error) { return gl.WaitFence(f, 0) }
	}
	p.lingers = !gl.Info().Software() || e.options.trial.linger
	p.record.prepare(gl, e)
}

// free deletes what is left in the driver and makes the pump do nothing.
func (p *pipeline) free(gl *glctx.GL) {
	p.freed = true
	p.abandon(gl)
	for _, q := range p.queries {
		gl.DeleteQuery(q)
	}
	p.queries = nil
}

// abandon forgets the stages on the GPU.
func (p *pipeline) abandon(gl *glctx.GL) {
	for i := range p.stages {
		gl.DeleteFence(p.stages[i].fence)
		if p.e.options.Timing {
			gl.DeleteQuery(p.stages[i].begin)
			gl.DeleteQuery(p.stages[i].end)
		}
	}
	p.stages, p.uploaded, p.computed = nil, nil, nil
}

// call has the pump start what there is to start.
func (e *Executor) call() {
	e.news.Store(true)
	e.look()
}

// look has the pump look at the fences.
func (e *Executor) look() {
	if !e.posted.Swap(true) {
		e.context.Post(e.pump)
	}
}

// runPump is one turn on the GL thread: see what is complete, start what is
// ready, and decide when to look again. Nothing in it waits.
func (e *Executor) runPump(gl *glctx.GL) {
	p := &e.gpu
	e.posted.Store(false)
	if p.freed {
		return
	}
	e.counts.looks.Add(1)
	news := e.news.Swap(false)
	if p.collect(gl) || news || p.midway() {
		for p.startNext(gl) {
		}
	}
	p.lookAgain(gl)
}

func (p *pipeline) now() time.Duration { return time.Since(p.made) }

// midway reports whether batches have parts that were not started.
func (p *pipeline) midway() bool { return p.uploaded != nil || p.computed != nil }

// collect completes the stages that the GPU has finished and reports whether
// there were any.
func (p *pipeline) collect(gl *glctx.GL) bool {
	n, err := p.count(gl)
	if err != nil {
		p.lose(gl, err)
		return false
	}
	if n == 0 {
		if len(p.stages) > 0 && p.now()-p.progress > p.e.options.Timeout {
			p.timeOut(gl)
		}
		return false
	}
	p.learn(n)
	for i := range n {
		p.finish(gl, &p.stages[i])
	}
	p.stages = append(p.stages[:0], p.stages[n:]...)
	return true
}

// count looks at the fences: so many stages are complete.
func (p *pipeline) count(gl *glctx.GL) (n int, err error) {
	for ; n < len(p.stages); n++ {
		s := &p.stages[n]
		reached, err := p.reached(gl, s.fence)
		if err == nil && reached {
			err = gl.CheckLost() // fences of a lost context are reached, too
		}
		if err != nil {
			return 0, err
		}
		if !reached {
			s.awaited = s.awaited || n == 0 && p.age(s) >= p.expected.of(s).took
			break
		}
	}
	return n, nil
}

// learn takes in that n stages were seen complete in one look.
func (p *pipeline) learn(n int) {
	s := &p.stages[0]
	together := p.age(s)
	began := max(s.began, p.completed)
	p.progress = p.now()
	p.completed = p.progress
	p.e.brisk.Store(p.lingers && together < hotGap)
	switch e := p.expected.of(s); {
	case e.met && p.e.options.MaxDelay > 0:
		e.bound(n, together, n < len(p.stages))
		p.completed = min(p.completed, began+time.Duration(n)*e.took)
	case n > 1:
		e.oversleep(together)
	default:
		e.learn(s.awaited, together)
	}
}

// finish completes a stage.
func (p *pipeline) finish(gl *glctx.GL, s *stage) {
	gl.DeleteFence(s.fence)
	if p.e.options.Timing {
		p.e.counts.gpuNanos.Add(int64(gl.Timestamp(s.end) - gl.Timestamp(s.begin)))
		p.queries = append(p.queries, s.begin, s.end)
	}
	p.e.mu.Lock()
	defer p.e.unlock()
	s.complete(p.e.reach)
}

// reach completes a batch. mu is held.
func (e *Executor) reach(b *batch) {
	if e.mu.failure != nil {
		return
	}
	b.state = reachedBatch
	e.mu.reached = b.sequence
	copy(e.mu.live, e.mu.live[1:])
	e.mu.live[len(e.mu.live)-1] = nil
	e.mu.live = e.mu.live[:len(e.mu.live)-1]
	b.drop()
	b.settle(b.err)
	e.recycle(b)
}

// timeOut fails all that is pending. It still runs, and keeps its memory, until
// the GPU has come to it.
func (p *pipeline) timeOut(gl *glctx.GL) {
	if gl.CheckLost() != nil {
		p.lose(gl, gl.CheckLost())
		return
	}
	p.progress = p.now()
	p.e.counts.timeouts.Add(1)
	p.e.mu.Lock()
	defer p.e.unlock()
	p.e.sealOpen() // nobody joins a batch whose outcome is known
	for _, b := range p.e.mu.live {
		b.settle(ErrTimeout)
	}
}

// lose gives everything up: the context is gone.
func (p *pipeline) lose(gl *glctx.GL, err error) {
	p.abandon(gl)
	p.e.fail(err)
}

// startNext hands one stage to the GPU and reports whether there was one.
func (p *pipeline) startNext(gl *glctx.GL) bool {
	s, ok := p.next()
	if !ok {
		return false
	}
	if len(p.stages) == 0 {
		p.progress = p.now()
	}
	p.uploaded, p.computed = s.up, nil
	if s.run != nil && s.run.downBytes() > 0 {
		p.computed = s.run
	}
	if p.e.options.Timing {
		s.begin, s.end = p.query(gl), p.query(gl)
		gl.WriteTimestamp(s.begin)
	}
	err := p.record.stage(gl, &s)
	if p.e.options.Timing {
		gl.WriteTimestamp(s.end)
	}
	s.fence = gl.NewFence()
	gl.Flush()
	s.began = p.now()
	if err != nil {
		p.blame(&s, err)
	}
	p.stages = append(p.stages, s)
	p.e.counts.stages.Add(1)
	return true
}

func (p *pipeline) query(gl *glctx.GL) glctx.Query {
	last := len(p.queries) - 1
	if last < 0 {
		return gl.NewQuery()
	}
	q := p.queries[last]
	p.queries = p.queries[:last]
	return q
}

// blame makes an error that the driver raised that of the batches at work.
func (p *pipeline) blame(s *stage, err error) {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	for _, b := range []*batch{s.whole, s.up, s.run, s.down} {
		if b != nil && b.err == nil && !b.settled.Load() {
			b.err = err
		}
	}
}

// next decides what the GPU is given now. Whether Submit has to call the pump
// for the next job is decided with it, under the same lock, so that no job is
// forgotten in between.
func (p *pipeline) next() (stage, bool) {
	e := p.e
	e.mu.Lock()
	defer e.unlock()
	behind := len(p.stages)
	e.eager.Store(behind < maxStages)
	if e.mu.failure != nil || p.midway() && behind >= maxStages {
		return stage{}, false
	}
	b := e.ready(behind)
	switch {
	case p.midway() && b != nil && b.large:
		return stage{up: e.take(), run: p.uploaded, down: p.computed}, true
	case p.midway() && (b != nil || p.hurry()):
		return stage{run: p.uploaded, down: p.computed}, true
	case p.midway() || b == nil:
		return stage{}, false
	case b.large && behind >= maxStages:
		return stage{}, false
	case b.large && (behind > 0 || len(e.mu.queue) > 1 || e.mu.open != nil):
		if b.upBytes() == 0 {
			return stage{run: e.take()}, true
		}
		return stage{up: e.take()}, true
	}
	return stage{whole: e.take()}, true
}

// ready is the batch that may start, nil if there is none. While the GPU has
// enough to do the open batch stays open, so that it can grow. mu is held.
func (e *Executor) ready(behind int) *batch {
	if len(e.mu.queue) == 0 && behind < maxStages {
		e.sealOpen()
		e.mu.call = false // we are the pump
	}
	if len(e.mu.queue) == 0 || e.mu.queue[0].writing.Load() > 0 {
		return nil
	}
	return e.mu.queue[0]
}

// take removes the first batch from the queue. mu is held.
func (e *Executor) take() *batch {
	b := e.mu.queue[0]
	copy(e.mu.queue, e.mu.queue[1:])
	e.mu.queue = e.mu.queue[:len(e.mu.queue)-1]
	return b
}

// hurry reports whether the parts that were not started should start although
// no new batch starts beside them: the GPU is about to run out of work.
func (p *pipeline) hurry() bool {
	return len(p.stages) == 0 || len(p.stages) == 1 && p.remaining() <= lead
}

// lead is how long before the GPU runs out of work it is given more: what it
// takes to wake the GL thread, with a margin.
const lead = 150 * time.Microsecond

// remaining is how long the oldest stage is expected to take from now on.
func (p *pipeline) remaining() time.Duration {
	s := &p.stages[0]
	return max(0, p.expected.of(s).took-p.age(s))
}

// age is how long the GPU has been at a stage, if it is the oldest.
func (p *pipeline) age(s *stage) time.Duration { return p.now() - max(s.began, p.completed) }

// hotGap is the longest time for which the GL thread looks again and again
// rather than sleeping: about what sleeping and waking cost.
const hotGap = 60 * time.Microsecond

// hotStage is how long stages take at most for which the GL thread looks again
// and again. Of a longer one, a look that comes late costs little.
const hotStage = 300 * time.Microsecond

// patience is how long there is nothing to do: until the oldest stage is complete,
// or, with Options.MaxDelay, until so much later that the GPU still has work.
func (p *pipeline) patience() time.Duration {
	remaining := p.remaining()
	switch most := p.e.options.MaxDelay; {
	case len(p.stages) == 1 && p.midway() && remaining > lead:
		return remaining - lead
	case len(p.stages) > 1 && most > 0:
		work := remaining
		for i := 1; i < len(p.stages); i++ {
			work += p.expected.of(&p.stages[i]).took
		}
		return max(remaining, min(remaining+most, work-lead))
	}
	return remaining
}

// lookAgain sees to it that the pump comes back when there may be something to
// see. The longer a stage runs, the more time passes between two looks, up to a
// sixteenth of its age.
func (p *pipeline) lookAgain(gl *glctx.GL) {
	if len(p.stages) == 0 {
		return
	}
	remaining := p.patience()
	age := p.age(&p.stages[0])
	gap := min(max(remaining, age/16), max(hotGap, p.progress+p.e.options.Timeout-p.now()))
	if gap < hotGap && age < hotStage && p.expected.of(&p.stages[0]).took < hotStage {
		p.e.look()
		return
	}
	gap = max(gap, hotGap)
	p.e.counts.sleeps.Add(1)
	p.e.alarm.set(gap)
	gl.ExpectIdle()
}
