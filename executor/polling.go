package executor

import (
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// Limits of spinning. Up to maxSpin the GL thread and Wait spin rather than sleep:
// that is about what sleeping and waking cost. Stages of maxSpinStage and more are
// not spun for, since a late poll costs little of their time.
const (
	maxSpin      = 60 * time.Microsecond
	maxSpinStage = 300 * time.Microsecond
)

// startLead is how long before the GPU runs out of work it is given more: the time
// to wake the GL thread, with a margin.
const startLead = 150 * time.Microsecond

// wakePump makes the pump poll, and start the stages that are ready.
func (e *Executor) wakePump() {
	e.startRequested.Store(true)
	e.postPump()
}

// postPump posts the pump to the GL thread, before the callbacks of others, unless it is
// posted or runs.
func (e *Executor) postPump() {
	if !e.pumpPosted.Swap(true) {
		e.context.PostFirst(e.pump)
	}
}

// runTimer is runPump when its timer expires, unless the pump is posted.
func (e *Executor) runTimer(gl *glctx.GL) {
	if !e.pumpPosted.Swap(true) {
		e.runPump(gl)
	}
}

// runPump completes finished stages and starts those that are ready, and schedules the
// next poll. It runs on the GL thread and never waits, but for short stages: it polls
// until they are complete, as long as it delays no other callback.
func (e *Executor) runPump(gl *glctx.GL) {
	p := &e.pipeline
	if p.freed {
		e.pumpPosted.Store(false)
		return
	}
	p.recorder.begin(gl)
	delay := pollNow
	for delay == pollNow {
		e.counts.polls.Add(1)
		requested := e.startRequested.Swap(false)
		if p.completeStages(gl) && !p.idle() || requested || p.partlyStarted() {
			// After a call that took long the next poll is due: a driver may run kernels in it.
			for p.startNext(gl) && p.now()-p.progress < shortTime {
			}
		}
		if delay = p.nextPoll(); !gl.Alone() {
			break
		}
	}
	e.pumpPosted.Store(false) // before the timer is set: its expiry posts the pump
	switch {
	case delay == pollNow || e.startRequested.Load(): // which found the pump posted
		e.postPump()
	case delay != noPoll:
		e.counts.sleeps.Add(1)
		p.timer.Set(delay)
		gl.ExpectIdle()
	}
}

// idle reports whether there is nothing to start, and the next Submit wakes the pump. It takes
// no lock: the goroutine that has waited for the last job has it in that moment.
func (p *pipeline) idle() bool {
	return len(p.stages) == 0 && p.e.submitWakesPump.Load() && p.e.Queued() == 0
}

// Results of nextPoll besides a time.
const (
	pollNow time.Duration = 0
	noPoll  time.Duration = -1
)

// nextPoll returns the time until the next poll: pollNow for short stages, noPoll without
// stages. It grows with the age of the stage, up to a sixteenth of it.
func (p *pipeline) nextPoll() time.Duration {
	if len(p.stages) == 0 {
		return noPoll
	}
	s := &p.stages[0]
	age := p.age(s)
	interval := min(max(p.pollDelay(), age/16), max(maxSpin, p.progress+p.e.options.Timeout-p.now()))
	if interval < maxSpin && age < maxSpinStage && p.estimates.of(s).duration < maxSpinStage {
		return pollNow
	}
	return max(interval, maxSpin)
}

// pollDelay returns the time until the next poll is useful: until the oldest stage is
// complete, or, with Options.MaxDelay, later by as much as leaves the GPU work.
func (p *pipeline) pollDelay() time.Duration {
	remaining := p.remaining()
	switch delay := p.e.options.MaxDelay; {
	case len(p.stages) == 1 && p.partlyStarted() && remaining > startLead:
		return remaining - startLead
	case len(p.stages) > 1 && delay > 0:
		work := remaining
		for i := 1; i < len(p.stages); i++ {
			work += p.estimates.of(&p.stages[i]).duration
		}
		return max(remaining, min(remaining+delay, work-startLead))
	}
	return remaining
}

// nearlyIdle reports whether the GPU is about to run out of work. Parts of batches
// that were not started then start without a new batch beside them.
func (p *pipeline) nearlyIdle() bool {
	return len(p.stages) == 0 || len(p.stages) == 1 && p.remaining() <= startLead
}

// now returns the time since the pipeline was created.
func (p *pipeline) now() time.Duration { return time.Since(p.created) }

// remaining returns the estimated time until the oldest stage is complete.
func (p *pipeline) remaining() time.Duration {
	s := &p.stages[0]
	return max(0, p.estimates.of(s).duration-p.age(s))
}

// age returns the time since the GPU began s, if s is the oldest stage.
func (p *pipeline) age(s *stage) time.Duration { return p.now() - max(s.began, p.completed) }
