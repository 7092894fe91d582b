package executor

import (
	"cmp"
	"slices"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// pipeline is the state of the GL thread: the stages on the GPU and what follows
// them. Only the GL thread uses it.
type pipeline struct {
	e         *Executor
	created   time.Time
	freed     bool
	stages    []stage // on the GPU, oldest first
	uploaded  *batch  // its inputs are on the device after the last stage
	computed  *batch  // its outputs are on the device after the last stage, and are to be copied down
	recorder  recorder
	queries   []glctx.Query // spare
	pollFence pollFence
	timer     *glctx.Timer // runs the pump for the next poll

	completed time.Duration // when the last stage was found complete
	progress  time.Duration // when a stage was last found complete, or started on an idle GPU
	estimates estimates
}

// pollFence reports whether a fence is signalled, without waiting.
type pollFence func(gl *glctx.GL, f glctx.Fence) (bool, error)

// maxStages is the number of stages on the GPU: one that runs and one behind it, so
// that the GPU has work while the host sleeps. More would only make batches smaller.
// maxSingleStages is the number where a batch has one job anyway: the stage behind the one
// that runs may be short.
const (
	maxStages       = 2
	maxSingleStages = 4
)

// shortTime is the time below which jobs share batches, whose completion is all the progress that
// is seen: even SlotJobs of them take less than a kernel may.
const shortTime = 10 * time.Millisecond

// stageLimit returns the number of stages on the GPU.
func (e *Executor) stageLimit() int {
	if e.options.SlotJobs == 1 && e.options.Depth > 1 {
		return maxSingleStages
	}
	return maxStages
}

func (p *pipeline) prepare(gl *glctx.GL, e *Executor) (err error) {
	p.e, p.created = e, time.Now()
	p.pollFence = e.options.test.pollFence
	if p.pollFence == nil {
		p.pollFence = func(gl *glctx.GL, f glctx.Fence) (bool, error) { return gl.WaitFence(f, 0) }
	}
	p.recorder.prepare(e)
	p.timer, err = gl.NewTimer(e.runTimer)
	return err
}

// free deletes the pipeline's GL objects. The pump does nothing from then on.
func (p *pipeline) free(gl *glctx.GL) {
	p.freed = true
	p.deleteStages(gl)
	for _, q := range p.queries {
		gl.DeleteQuery(q)
	}
	p.queries = nil
}

// deleteStages deletes the stages without waiting for them.
func (p *pipeline) deleteStages(gl *glctx.GL) {
	for i := range p.stages {
		gl.DeleteFence(p.stages[i].fence)
		_ = p.passMarks(gl, &p.stages[i], true) // it polls none
		if p.e.options.Timing {
			gl.DeleteQuery(p.stages[i].begin)
			gl.DeleteQuery(p.stages[i].end)
			p.reuseMarks(&p.stages[i])
		}
	}
	p.stages, p.uploaded, p.computed = nil, nil, nil
}

// partlyStarted reports whether batches have parts that were not started.
func (p *pipeline) partlyStarted() bool { return p.uploaded != nil || p.computed != nil }

// completeStages completes the stages that the GPU has finished and reports whether
// there were any.
func (p *pipeline) completeStages(gl *glctx.GL) bool {
	n, err := p.countSignalled(gl)
	if err != nil {
		p.contextLost(gl, err)
		return false
	}
	if n == 0 {
		if len(p.stages) > 0 && p.now()-p.progress > p.e.options.Timeout {
			p.timeOut(gl)
		}
		return false
	}
	began := p.progress
	p.updateEstimate(n)
	for i := range n {
		p.completeStage(gl, &p.stages[i], p.progress-began < shortTime)
	}
	for i := range n {
		gl.DeleteFence(p.stages[i].fence) // takes a microsecond, so after waiters are woken
	}
	p.stages = append(p.stages[:0], p.stages[n:]...)
	return true
}

// countSignalled polls the fences in order and returns the number of signalled ones.
func (p *pipeline) countSignalled(gl *glctx.GL) (n int, err error) {
	for ; n < len(p.stages); n++ {
		s := &p.stages[n]
		signalled, err := p.pollFence(gl, s.fence)
		if err = cmp.Or(err, p.passMarks(gl, s, signalled)); err != nil {
			return 0, err
		}
		if !signalled {
			s.missedPoll = s.missedPoll || n == 0 && p.age(s) >= p.estimates.of(s).duration
			break
		}
	}
	if n > 0 {
		err = gl.CheckLost() // fences of a lost context are signalled, too
	}
	return n, err
}

// passMarks deletes the fences behind jobs that the GPU has finished, of a batch that has some: all of
// them where the stage is over.
func (p *pipeline) passMarks(gl *glctx.GL, s *stage, over bool) error {
	b := cmp.Or(s.whole, s.run)
	for b != nil && len(b.marks) > 0 {
		if !over {
			passed, err := p.pollFence(gl, b.marks[0])
			if err != nil || !passed {
				return err
			}
		}
		gl.DeleteFence(b.marks[0])
		b.marks = slices.Delete(b.marks, 0, 1)
		p.e.counts.passed.Add(1)
	}
	return nil
}

// updateEstimate adjusts the estimate for the oldest stage when n stages were found
// complete in one poll.
func (p *pipeline) updateEstimate(n int) {
	s := &p.stages[0]
	elapsed := p.age(s)
	began := max(s.began, p.completed)
	now := p.now()
	if s.tried && n == 1 {
		p.estimates.of(s).trial.observe(s.form, now-p.progress)
	}
	p.progress, p.completed = now, now
	p.e.lastStage.Store(int64(elapsed))
	switch e := p.estimates.of(s); {
	case e.measured && p.e.options.MaxDelay > 0:
		e.limit(n, elapsed, n < len(p.stages))
		p.completed = min(p.completed, began+time.Duration(n)*e.duration)
	case n > 1:
		e.observeSeveral(elapsed)
	default:
		e.observe(s.missedPoll, elapsed)
	}
}

// completeStage completes the batches of a stage, and keeps whether their jobs were short.
func (p *pipeline) completeStage(gl *glctx.GL, s *stage, short bool) {
	if p.e.options.Timing {
		p.e.counts.gpuNanos.Add(int64(gl.Timestamp(s.end) - gl.Timestamp(s.begin)))
		p.traceStage(gl, s)
		p.queries = append(p.queries, s.begin, s.end)
	}
	p.e.mu.Lock()
	defer p.e.unlock()
	s.complete(func(b *batch) { p.e.completeBatch(b, short) })
}

// completeBatch completes the oldest live batch, whose jobs were short or not. mu is held.
func (e *Executor) completeBatch(b *batch, short bool) {
	if e.mu.failure != nil {
		return
	}
	b.state = completedBatch
	e.counts.passed.Add(1) // first: see Progress
	e.counts.unseen.Add(-b.unseen())
	if len(e.mu.short) > mostWorks {
		clear(e.mu.short)
		e.mu.slowed++ // jobs that turn long are not seen to
	}
	for i := range b.jobs {
		if was, known := e.mu.short[b.jobs[i].work]; len(b.commands) > 0 && (!known || was != short) { // see leaveOut
			e.mu.short[b.jobs[i].work] = short
			if was {
				e.mu.slowed++
			}
		}
	}
	e.counts.completed.Add(uint64(len(b.jobs)))
	e.mu.completed = b.sequence
	e.mu.live = slices.Delete(e.mu.live, 0, 1)
	b.releaseKept()
	b.resolve(b.err)
	e.recycle(b)
}

// timeOut fails all pending jobs. They still run, and keep their memory until the
// GPU has finished them.
func (p *pipeline) timeOut(gl *glctx.GL) {
	if err := gl.CheckLost(); err != nil {
		p.contextLost(gl, err)
		return
	}
	p.progress = p.now()
	p.e.counts.timeouts.Add(1)
	p.e.mu.Lock()
	defer p.e.unlock()
	p.e.sealOpen() // a resolved batch accepts no jobs
	for _, b := range p.e.mu.live {
		b.resolve(ErrTimeout)
	}
}

// contextLost deletes all stages and fails all jobs with err.
func (p *pipeline) contextLost(gl *glctx.GL, err error) {
	p.deleteStages(gl)
	p.e.fail(err)
}

// startNext gives one stage to the GPU and reports whether there was one.
func (p *pipeline) startNext(gl *glctx.GL) bool {
	s, ok := p.nextStage()
	if !ok {
		return false
	}
	p.chooseForm(&s)
	if len(p.stages) == 0 {
		p.progress = p.now()
	}
	p.uploaded, p.computed = s.up, nil
	if s.run != nil && s.run.downBytes() > 0 {
		p.computed = s.run
	}
	if p.e.options.Timing {
		s.begin, s.end = p.newQuery(gl), p.newQuery(gl)
		p.beginTrace(gl, &s)
		gl.WriteTimestamp(s.begin)
	}
	p.e.counts.inKernel.Store(p.e.holdsThread())
	err := p.recorder.stage(gl, &s)
	p.e.counts.inKernel.Store(false)
	if p.e.options.Timing {
		gl.WriteTimestamp(s.end)
	}
	s.fence = gl.NewFence()
	gl.Flush()
	s.began = p.now()
	if err != nil {
		p.recorder.forget()
		p.failBatches(&s, err)
	}
	p.stages = append(p.stages, s)
	p.e.counts.stages.Add(1)
	return true
}

// newQuery returns a spare query, or a new one.
func (p *pipeline) newQuery(gl *glctx.GL) glctx.Query {
	last := len(p.queries) - 1
	if last < 0 {
		return gl.NewQuery()
	}
	q := p.queries[last]
	p.queries = p.queries[:last]
	return q
}

// failBatches sets err, which the driver raised while the stage was recorded, as the
// outcome of the stage's batches.
func (p *pipeline) failBatches(s *stage, err error) {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	for _, b := range []*batch{s.whole, s.up, s.run, s.down} {
		if b != nil && b.err == nil && !b.resolved.Load() {
			b.err = err
		}
	}
}

// nextStage returns the stage that the GPU is given now, if any. It decides under
// the same lock whether Submit wakes the pump for the next job, so that a job which
// is submitted meanwhile is not left unstarted.
func (p *pipeline) nextStage() (stage, bool) {
	e := p.e
	limit := e.stageLimit()
	e.mu.Lock()
	defer e.unlock()
	onGPU := len(p.stages)
	e.submitWakesPump.Store(onGPU < limit && !p.busyAfterPoll())
	if e.mu.failure != nil || p.partlyStarted() && onGPU >= limit {
		return stage{}, false
	}
	b := e.readyBatch(onGPU)
	switch {
	case p.partlyStarted() && b != nil && b.large:
		return stage{up: e.dequeue(), run: p.uploaded, down: p.computed}, true
	case p.partlyStarted() && (b != nil || p.nearlyIdle()):
		return stage{run: p.uploaded, down: p.computed}, true
	case p.partlyStarted() || b == nil || b.large && onGPU >= limit:
		return stage{}, false
	case b.large && (onGPU > 0 || len(e.mu.queue) > 1 || e.mu.open != nil):
		if b.upBytes() == 0 {
			return stage{run: e.dequeue()}, true
		}
		return stage{up: e.dequeue()}, true
	}
	return stage{whole: e.dequeue()}, true
}

// busyAfterPoll reports whether the GPU has work for long after the next poll, which then
// starts what is submitted meanwhile: that saves waking the GL thread twice for a job.
func (p *pipeline) busyAfterPoll() bool {
	if len(p.stages) < 2 || p.partlyStarted() {
		return false
	}
	next := p.estimates.of(&p.stages[1])
	return next.measured && next.duration >= maxSpinStage
}

// readyBatch returns the batch that may start, or nil. While the GPU has enough
// stages the open batch stays open, so that it can grow. mu is held.
func (e *Executor) readyBatch(onGPU int) *batch {
	if len(e.mu.queue) == 0 && onGPU < e.stageLimit() {
		e.sealOpen()
		e.mu.wakePump = false // the caller is the pump
	}
	if len(e.mu.queue) == 0 || e.mu.queue[0].writing.Load() > 0 {
		return nil
	}
	return e.mu.queue[0]
}

// dequeue removes the first batch from the queue. Where jobs have turned long since it was opened, its
// own may be long, too: so many of them that their end alone would look like a hang. mu is held.
func (e *Executor) dequeue() *batch {
	b := e.mu.queue[0]
	b.leaveOut()
	b.marked = len(b.jobs) > 1 && b.slowed != e.mu.slowed
	e.counts.unseen.Add(b.unseen())
	e.mu.queue = slices.Delete(e.mu.queue, 0, 1)
	return b
}

// leaveOut leaves a batch nothing to do where the owners of all its jobs have ended. Jobs that may be long,
// which others would wait for, have a batch each.
func (b *batch) leaveOut() {
	for i := range b.jobs {
		if owner := b.jobs[i].owner; owner == nil || owner.Err() == nil {
			return
		}
	}
	b.commandLists.reset()
	b.copies = b.copies[:0]
}

// unseen is the number of jobs of a batch whose end is seen with that of the last one alone: a fence
// behind each 32nd costs an eighth of the jobs of 10 and 100 us on an H200. A software driver counts each.
func (b *batch) unseen() int64 {
	if b.marked || b.e.holdsThread() {
		return 0
	}
	return int64(len(b.jobs) - 1)
}
