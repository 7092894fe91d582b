//go:build linux

package resident

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// flight is one submission that the GPU works on.
type flight struct {
	sighting
	fence       glctx.Fence
	first, last glctx.Query   // the GPU's clock before its work and behind
	steps       uint64        // that it should do: see begin
	rounds      int           // of a budget for each group that it consists of
	from        uint32        // steps of the epoch that were known to be done before
	slice       time.Duration // time after which it is told to end; 0: none
	limit       time.Duration // the same where it should have ended long ago by itself; 0: none
	sliced      bool          // it was, for one of these
	landed      bool          // its fence was reached and is deleted
	report      report        // as it stood then
	whole       bool          // it is not told to end
	prompt      bool          // who submits it waits for its end a moment, and needs no clock for that

	hurried time.Time // when it was told to end; zero: not yet
}

// depth is how many submissions are under way at a time.
func (s *Session) depth() int {
	switch s.form.Actual {
	case Double:
		return 2
	case Triple:
		return 3
	}
	return 1
}

// each is how many steps a budget of one comes to.
func (s *Session) each() uint64 {
	if s.kernel.Claim {
		return uint64(s.kernel.Groups)
	}
	return 1
}

// maxIssued bounds how many dispatches one submission has.
const maxIssued = 4096

// submit starts the next ticks, on the way to target.
func (s *Session) submit(target uint32) error {
	left := uint64(target - min(s.planned(), target))
	next := s.nextSteps(left)
	return s.submitSteps(min(left, next), next, false)
}

// nextSteps is how many steps the next submission should have.
func (s *Session) nextSteps(left uint64) uint64 {
	p, last := &s.driver.pace, s.driver.steps
	switch {
	case s.form.Actual == Persistent && s.leashed():
		return p.budget(sliceBound*s.tickTime(s.options.Slice)/4, last)
	case s.form.Actual == Persistent:
		return left
	case s.options.Budget > 0:
		return uint64(s.options.Budget) * s.each() * uint64(s.issued())
	case s.form.Actual == Mega:
		last *= maxGrowth
	}
	return p.budget(s.aim()/s.caution(), last)
}

// coldTime is after which a GPU without work may have slowed its clock.
const coldTime = time.Second

// caution is how many times shorter than others the next submission is to be:
// after a rest steps may cost several times what they did.
func (s *Session) caution() time.Duration {
	if len(s.driver.flights) == 0 && time.Since(s.driver.watch.seen) > coldTime {
		return maxGrowth
	}
	return 1
}

// aim is how long a submission should take that ends by itself.
func (s *Session) aim() time.Duration {
	if s.form.Actual == Mega {
		return s.tickTime(megaTicks * s.options.TickTime)
	}
	return s.tickTime(s.options.TickTime)
}

// limit is when a submission is told to end that took longer than it should, since
// its steps suddenly cost more: 0 where that is not wanted, or no kernel sees it.
func (s *Session) limit() time.Duration {
	if s.form.Actual == Persistent || s.options.Budget > 0 || !s.inflight() {
		return 0
	}
	return 2 * s.aim()
}

// sliceBound is how far groups of a persistent tick may get, in quarters of what
// the slowest one does in a slice. Group 0 looks at the door, and where steps are
// short the others are faster: without a bound they would be ahead by more with
// every slice, and all of that be caught up with when somebody looks.
const sliceBound = 5

// leashed reports whether groups of a persistent tick have a bound: where they may
// come apart, and what the slowest one does is known. Groups with nothing to do take
// hardly any steps, and say nothing about that.
func (s *Session) leashed() bool {
	return s.apart() && s.driver.pace.nanos > 0 && s.driver.last.idle == 0
}

// apart reports whether groups have a pace of their own.
func (s *Session) apart() bool {
	return !s.kernel.lockstep() && !s.kernel.Claim && s.kernel.Groups > 1
}

// issued is how many dispatches a submission has, where phases do not ask for
// more.
func (s *Session) issued() int {
	if s.form.Actual == Chain {
		return s.options.ChainLength
	}
	return 1
}

// plan divides steps into dispatches: budget steps of each group, count times.
func (s *Session) plan(steps uint64) (budget uint32, count int) {
	rounds := (steps + s.each() - 1) / s.each()
	if s.kernel.lockstep() && !s.form.GridBarrier {
		return 1, int(min(rounds, max(1, maxIssued/uint64(s.kernel.Phases))))
	}
	count = int(min(uint64(s.issued()), rounds))
	each := (rounds + uint64(count) - 1) / uint64(count)
	if m := uint64(s.form.MaxSteps); m > 0 && each > m {
		// More dispatches in one submission, rather than more submissions.
		each = m
		count = int(min((rounds+m-1)/m, maxIssued))
	}
	return uint32(min(each, defaultEpoch)), count
}

// begin takes in that a flight has begun, since the one before it ended with a
// report. The budget of a tick is what the newest submission says when it begins, not
// what its own said.
func (s *Session) begin(f *flight, before report) {
	if f.landed {
		return
	}
	budget := atomic.LoadUint32(&s.words[wordOrder+2])
	left := s.driver.target - min(before.progress(), s.driver.target)
	f.steps = min(uint64(budget)*uint64(f.rounds)*s.each(), uint64(left))
}

// submitSteps starts so many steps, or as many as a submission may have. full is what
// others have that wait: they get the budget of this one, which is not to make them
// short because it is the last one. whole has nobody end them early.
func (s *Session) submitSteps(steps, full uint64, whole bool) error {
	budget, count := s.plan(steps)
	f := flight{steps: min(steps, uint64(budget)*uint64(count)*s.each()), rounds: count, whole: whole}
	if !whole {
		f.limit = s.limit()
	}
	if s.form.Actual == Persistent && !whole {
		f.slice = s.tickTime(s.options.Slice)
		if s.leashed() {
			s.leash(s.driver.last.progress() + uint32(f.steps))
		}
	}
	if s.depth() > 1 && full > steps {
		budget, _ = s.plan(full) // the target is a bound of its own
	}
	atomic.StoreUint32(&s.words[wordOrder+2], budget)
	if !whole {
		s.driver.steps = f.steps
	}
	expected := s.driver.pace.expect(f.steps)
	f.from = s.driver.last.progress()
	f.prompt = s.depth() == 1 && f.slice == 0 && (expected <= quickTick || s.driver.early)
	err := s.context.Do(func(gl *glctx.GL) (err error) {
		f.at = time.Now()
		s.rearm(gl)
		s.gl.bind(gl)
		if !f.prompt {
			f.first = s.gl.stamps.stamp(gl)
		}
		for i := range count {
			s.dispatch(gl, i > 0 || len(s.driver.flights) > 0)
		}
		if !f.prompt {
			f.last = s.gl.stamps.stamp(gl)
		}
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		f.fence = gl.NewFence()
		gl.Flush()
		f.issue = time.Since(f.at)
		switch {
		case f.issue > quickTick: // a software driver has done the work by now
			err = s.arrive(gl, &f, 0)
		case f.prompt:
			err = s.arrive(gl, &f, quickTick)
		case expected > quickTick || f.slice > 0:
			gl.ExpectIdle()
		}
		return errors.Join(err, gl.Err())
	})
	s.counts.submissions.Add(1)
	s.driver.flights = append(s.driver.flights, f)
	s.counts.underWay.Store(max(s.counts.underWay.Load(), uint64(len(s.driver.flights))))
	return err
}

// rearm clears what the last run left in device memory, where arm asked for it.
func (s *Session) rearm(gl *glctx.GL) {
	d := &s.driver
	if d.rearm {
		s.gl.rearm(gl)
	}
	if d.reclaim {
		gl.Upload(s.gl.work, 4*wordClaimed, []byte{0, 0, 0, 0})
	}
	d.rearm, d.reclaim = false, false
}

// forget gives up on what is under way, after a failure.
func (s *Session) forget() {
	s.hurry()
	flights := s.driver.flights
	s.driver.flights = nil
	s.context.Post(func(gl *glctx.GL) {
		for _, f := range flights {
			if !f.landed {
				gl.DeleteFence(f.fence)
				if !f.prompt {
					s.gl.stamps.give(f.first, f.last)
				}
			}
		}
	})
}

// perRound is how many dispatches a round has, of which each reports.
func (s *Session) perRound() uint32 {
	if s.kernel.lockstep() && !s.form.GridBarrier {
		return s.kernel.Phases
	}
	return 1
}

// dispatch issues one tick: a dispatch, or one for each phase. after says that
// others may be under way.
func (s *Session) dispatch(gl *glctx.GL, after bool) {
	first, last := uint32(0), s.kernel.Phases/s.perRound()
	for ; last <= s.kernel.Phases; first, last = first+1, last+1 {
		if after || first > 0 {
			gl.MemoryBarrier(glctx.BarrierStorage | glctx.BarrierCommand)
		}
		s.gl.phases(gl, first, last)
		if s.form.Actual == Chain {
			gl.DispatchIndirect(s.gl.work, 4*wordNextGroups)
		} else {
			gl.Dispatch(s.kernel.Groups, 1, 1)
		}
		s.counts.dispatches.Add(1)
	}
}
