//go:build linux

package resident

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/pace"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// submission is the dispatches of one or more ticks, with the fence behind them.
type submission struct {
	pace.Sample
	fence       glctx.Fence   // zero where its end is seen in mapped memory: see seesEnd
	first, last glctx.Query   // timestamps before and behind its work
	steps       uint64        // expected: see updateExpected
	rounds      int           // dispatches with a budget for each group
	from        uint32        // steps of the epoch that were known to be done before
	slice       time.Duration // after which its end is requested; 0: none
	limit       time.Duration // the same for a tick that should have ended by itself; 0: none
	cut         bool          // its end was requested for one of these
	reached     bool          // its fence was reached and is deleted
	status      wire.Status   // at that time
	whole       bool          // its end is not requested
	untimed     bool          // it is too short for timestamps
	beginsAt    uint32        // ticks that have ended when it begins
	endsAt      uint32        // and when it has ended; a chain may end with fewer
	stopAt      time.Time     // when its end was requested; zero: not yet
	gpuSeen     time.Duration // the GPU's time at Seen, with a Tracer
}

// submitNext submits the next steps on the way to target.
func (sc *scheduler) submitNext(target uint32) error {
	left := uint64(target - min(sc.planned(), target))
	next := sc.nextSteps(left)
	return sc.submitSteps(min(left, next), next, false)
}

// submitSteps submits a number of steps, or as many as one submission may have. full
// is the budget for queued ticks, which read the newest one: the last submission of a
// run, which is short, must not shorten them. The end of a whole submission is not
// requested early.
func (sc *scheduler) submitSteps(steps, full uint64, whole bool) error {
	budget, count := sc.divide(steps)
	f := submission{steps: min(steps, uint64(budget)*uint64(count)*sc.stepsPerRound()), rounds: count, whole: whole}
	if !whole {
		f.limit = sc.timeLimit()
	}
	if sc.mode.Actual == Persistent && !whole {
		f.slice = sc.run.tickTime(sc.options.Slice)
		bound := sc.target
		if sc.hasStepBound() {
			bound = sc.status.Progress() + uint32(f.steps)
		}
		sc.setStepBound(bound) // also to lift that of the submission before
	}
	if sc.depth() > 1 && full > steps {
		budget, _ = sc.divide(full) // the target bounds the steps of this one
	}
	sc.words.SetBudget(budget)
	if !whole {
		sc.lastSteps = f.steps
	}
	f.from = sc.status.Progress()
	return sc.issue(f, count)
}

// issue issues the dispatches of a submission.
func (sc *scheduler) issue(f submission, count int) error {
	expected := sc.estimator.Expect(f.steps)
	early := sc.depth() == 1 && sc.endedEarly
	unfenced := sc.seesEnd() && (sc.estimator.Known() && (expected < pace.InterruptibleSleep || early) || sc.options.test.unfenced)
	f.untimed = unfenced || f.slice == 0 && (expected <= pace.ShortTick || early)
	f.beginsAt = sc.issuedTicks()
	f.endsAt = f.beginsAt + uint32(count)*sc.dispatchesPerRound()
	err := sc.context.Do(func(gl *glctx.GL) (err error) {
		f.Submitted = time.Now()
		sc.clearWork(gl)
		sc.gl.bind(gl)
		if !f.untimed {
			f.first = sc.gl.timestamps.write(gl)
		}
		for i := range count {
			sc.dispatchRound(gl, i > 0 || len(sc.submissions) > 0)
		}
		if !f.untimed {
			f.last = sc.gl.timestamps.write(gl)
		}
		if unfenced {
			gl.Flush() // first: the barrier takes its time while the tick runs
		}
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		if !unfenced {
			f.fence = gl.NewFence()
			gl.Flush()
		}
		f.Issue = time.Since(f.Submitted)
		switch {
		case unfenced:
			if expected > pace.ShortTick && !early {
				gl.ExpectIdle()
			}
		case f.Issue > pace.ShortTick && sc.allReached(): // a software driver has done the work by now
			err = sc.pollFence(gl, &f, 0)
		case f.untimed && sc.depth() == 1:
			err = sc.pollFence(gl, &f, pace.ShortTick)
		case expected > pace.ShortTick || f.slice > 0:
			gl.ExpectIdle()
		}
		return errors.Join(err, gl.Err())
	})
	sc.submissions = append(sc.submissions, f)
	sc.run.count(func(n *Stats) {
		n.Submissions++
		n.Dispatches += uint64(count) * uint64(sc.dispatchesPerRound())
		n.InFlight = max(n.InFlight, uint64(len(sc.submissions)))
	})
	return err
}

// allReached reports whether the statuses of all submissions are read. One that is read
// before an older one's would have fewer ticks.
func (sc *scheduler) allReached() bool {
	last := len(sc.submissions) - 1
	return last < 0 || sc.submissions[last].reached
}

// issuedTicks returns the ticks that have ended when all submissions have.
func (sc *scheduler) issuedTicks() uint32 {
	if last := len(sc.submissions) - 1; last >= 0 {
		return sc.submissions[last].endsAt
	}
	return sc.ticks
}

// clearWork clears what the last run left in device memory.
func (sc *scheduler) clearWork(gl *glctx.GL) {
	if sc.clearRun {
		sc.gl.clearRun(gl)
	}
	if sc.clearClaims {
		gl.Upload(sc.gl.work, 4*wire.AtClaimed, []byte{0, 0, 0, 0})
	}
	sc.clearRun, sc.clearClaims = false, false
}

// dispatchRound issues one dispatch, or one for each phase. after reports that other
// dispatches may run.
func (sc *scheduler) dispatchRound(gl *glctx.GL, after bool) {
	n := sc.dispatchesPerRound()
	first, last := uint32(0), sc.kernel.Phases/n
	for ; last <= sc.kernel.Phases; first, last = first+1, last+1 {
		if after || first > 0 {
			gl.MemoryBarrier(sc.barrierBetween())
		}
		sc.gl.setPhases(gl, first, last)
		if sc.mode.Actual == Chain {
			gl.DispatchIndirect(sc.gl.work, 4*wire.AtNextGroups)
		} else {
			gl.Dispatch(sc.kernel.Groups, 1, 1)
		}
	}
}

// barrierBetween returns the barrier between two dispatches.
func (sc *scheduler) barrierBetween() uint32 {
	if sc.mode.Actual == Chain {
		return glctx.BarrierStorage | glctx.BarrierCommand
	}
	return glctx.BarrierStorage
}

// updateExpected corrects the expected steps of a queued submission, which begins
// after one that ended with a status: its budget is the newest one at that time.
func (sc *scheduler) updateExpected(f *submission, before wire.Status) {
	if f.reached {
		return
	}
	left := sc.target - min(before.Progress(), sc.target)
	f.steps = min(uint64(sc.words.Budget())*uint64(f.rounds)*sc.stepsPerRound(), uint64(left))
}

// completeOldest waits for the oldest submission and processes its status. It reports
// whether the burst is over.
func (sc *scheduler) completeOldest(target uint32) (over bool, err error) {
	if err := sc.waitSubmission(&sc.submissions[0]); err != nil {
		return true, err
	}
	f := sc.submissions[0]
	sc.submissions = slices.Delete(sc.submissions, 0, 1)
	v := f.status
	if err := sc.spoiledBy(v.Spoiled); err != nil {
		return true, err
	}
	progress, before := v.Progress(), sc.status.Progress()
	done := uint64(progress - min(before, progress))
	moved := v.Most > sc.status.Most
	since := uint64(progress - min(f.from, progress))
	sc.measureTime(&f, done)
	sc.traceTick(&f, done)
	sc.countTicks(v)
	sc.endedEarly = since < f.steps && !f.cut
	sc.advanced = sc.advanced || done > 0
	sc.status = v
	sc.run.notify() // there may be messages
	over = SignalKind(v.Kind) != SignalRunning || progress >= target || v.Halted == sc.kernel.Groups || v.Idle == sc.kernel.Groups
	if since == 0 && !moved && !over {
		return true, sc.countEmpty(f)
	}
	sc.emptyTicks = 0
	sc.rest()
	return over || f.cut, nil
}

// spoiledBy returns the error of a session whose state is wrong for some reasons, which are
// bits, or nil for none.
func (sc *scheduler) spoiledBy(reasons uint32) error {
	switch {
	case reasons&wire.SpoiledByBarrier != 0:
		return fmt.Errorf("%w: one of them went on without the others, so the state is wrong: all groups must call residentGridBarrier equally often; Kernel.Phases needs no such barrier", ErrBarrierStuck)
	case reasons&wire.SpoiledByLoop != 0 && !sc.caps.cutTicks:
		return fmt.Errorf("%w: it ended a loop early, so the state is wrong: Kernel.Loops is %d, declare the loop turns of a step, or shorten the steps", ErrLoopLimit, sc.kernel.Loops)
	}
	return nil
}

// readSpoiled returns the reasons why the state is wrong, where no status shows them:
// llvmpipe does not resume a group in which one invocation reached fewer barriers than
// another, so that its leader never ends the tick.
func (sc *scheduler) readSpoiled() uint32 {
	reasons := []uint32{0}
	err := sc.context.Do(func(gl *glctx.GL) error {
		gl.Download(sc.gl.work, 4*wire.AtWorkSpoiled, glctx.Bytes(reasons))
		return gl.Err()
	})
	if err != nil {
		return 0
	}
	return reasons[0]
}

// measureTime adds the time of a submission to the estimate. done is its steps by the
// status.
func (sc *scheduler) measureTime(f *submission, done uint64) {
	sc.timer.Observe(f.Sample, pace.Work{Steps: done, Planned: f.steps, Leads: int32(f.status.Ticks-f.endsAt) > 0})
	if n := sc.submissions; len(n) > 0 && n[0].reached && n[0].status.Ticks == f.status.Ticks {
		return // one status for two submissions: their steps cannot be told apart
	}
	steps, took, longest := sc.timer.Take()
	sc.run.count(func(n *Stats) { n.LongestTick = max(n.LongestTick, longest) })
	// In an alignment only some groups work, and idle groups that wait for messages do
	// few steps. A synchronous dispatch ends only after its steps, few or not.
	if !f.whole && !(sc.mode.Actual == Persistent && f.status.Idle > 0 && !sc.synchronous) {
		sc.estimator.Observe(steps, took)
	}
}

// countTicks adds the ticks of a status to the statistics.
func (sc *scheduler) countTicks(v wire.Status) {
	ticks := uint64(v.Ticks - sc.ticks)
	sc.ticks = v.Ticks
	sc.run.count(func(n *Stats) {
		n.Ticks += ticks
		n.ActiveGroups += uint64(v.Active)
		n.LaunchedGroups += uint64(sc.kernel.Groups)
	})
}

// maxEmpty bounds the ticks in a row without a step.
const maxEmpty = 8

// countEmpty counts a tick without a step, and returns ErrStuck after too many. A
// request may end a tick as soon as it begins, but not again and again.
func (sc *scheduler) countEmpty(f submission) error {
	if sc.emptyTicks++; sc.emptyTicks < maxEmpty || sc.run.attention.Load() {
		return nil
	}
	if err := sc.spoiledBy(sc.readSpoiled()); err != nil {
		return err
	}
	return fmt.Errorf("%w: %d ticks in a row ended without a step, the last one with a budget of %d", ErrStuck, maxEmpty, f.steps)
}

// abandonSubmissions deletes the fences and timestamps of all submissions, after a
// failure.
func (sc *scheduler) abandonSubmissions() {
	sc.mail.requestStop()
	list := sc.submissions
	sc.submissions = nil
	sc.context.Post(func(gl *glctx.GL) {
		for _, f := range list {
			if f.reached {
				continue
			}
			if f.fence != (glctx.Fence{}) {
				gl.DeleteFence(f.fence)
			}
			if !f.untimed {
				sc.gl.timestamps.reuse(f.first, f.last)
			}
		}
	})
}
