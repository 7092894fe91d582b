//go:build linux

package resident

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/glctx"
)

// flight is one submission that the GPU works on.
type flight struct {
	fence  glctx.Fence
	steps  uint64 // that it should do
	from   uint32 // steps of the epoch that were known to be done before
	at     time.Time
	issue  time.Duration // of the calls: on a software driver, of the work
	slice  time.Duration // time after which it is told to end; 0: none
	sliced bool
	landed bool // its fence was reached and is deleted
	whole  bool // it is not told to end

	hurried time.Time // when it was told to end; zero: not yet
}

// depth is how many submissions are under way at a time.
func (s *Session) depth() int {
	switch s.form.Got {
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
	return s.submitSteps(min(left, s.nextSteps(left)), false)
}

// nextSteps is how many steps the next submission should have.
func (s *Session) nextSteps(left uint64) uint64 {
	p, last := &s.driver.pace, s.driver.steps
	switch {
	case s.form.Got == Persistent && s.leashed():
		return p.budget(sliceBound*s.tickTime(s.options.Slice)/4, last)
	case s.form.Got == Persistent:
		return left
	case s.options.Budget > 0:
		return uint64(s.options.Budget) * s.each() * uint64(s.issued())
	case s.form.Got == Mega:
		return p.budget(s.tickTime(megaTicks*s.options.TickTime), maxGrowth*last)
	}
	return p.budget(s.tickTime(s.options.TickTime), last)
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
	if s.form.Got == Chain {
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

// submitSteps starts so many steps, or as many as a submission may have. whole
// has nobody end them early.
func (s *Session) submitSteps(steps uint64, whole bool) error {
	budget, count := s.plan(steps)
	f := flight{steps: min(steps, uint64(budget)*uint64(count)*s.each()), whole: whole}
	if s.form.Got == Persistent && !whole {
		f.slice = s.tickTime(s.options.Slice)
		if s.leashed() {
			s.leash(s.driver.last.progress() + uint32(f.steps))
		}
	}
	atomic.StoreUint32(&s.words[wordOrder+2], budget)
	s.driver.steps = f.steps
	expected := s.driver.pace.expect(f.steps)
	f.from = s.driver.last.progress()
	err := s.context.Do(func(gl *glctx.GL) (err error) {
		f.at = time.Now()
		s.rearm(gl)
		s.gl.bind(gl)
		for i := range count {
			s.dispatch(gl, i > 0 || len(s.driver.flights) > 0)
		}
		gl.MemoryBarrier(glctx.BarrierAllKinds)
		f.fence = gl.NewFence()
		gl.Flush()
		f.issue = time.Since(f.at)
		switch {
		case f.issue > quickTick: // a software driver has done the work by now
			f.landed, err = waitFence(gl, f.fence, 0)
		case s.depth() == 1 && f.slice == 0 && (expected <= quickTick || s.driver.early):
			f.landed, err = waitFence(gl, f.fence, quickTick)
		case expected > quickTick || f.slice > 0:
			gl.Quiet()
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
			}
		}
	})
}

// dispatch issues one tick: a dispatch, or one for each phase. after says that
// others may be under way.
func (s *Session) dispatch(gl *glctx.GL, after bool) {
	first, last := uint32(0), s.kernel.Phases
	if s.kernel.lockstep() && !s.form.GridBarrier {
		last = 1
	}
	for ; last <= s.kernel.Phases; first, last = first+1, last+1 {
		if after || first > 0 {
			gl.MemoryBarrier(glctx.BarrierStorage | glctx.BarrierCommand)
		}
		s.gl.phases(gl, first, last)
		if s.form.Got == Chain {
			gl.DispatchIndirect(s.gl.work, 4*wordNextGroups)
		} else {
			gl.Dispatch(s.kernel.Groups, 1, 1)
		}
		s.counts.dispatches.Add(1)
	}
}

// quickTick is a tick that is over sooner than the host could sleep.
const quickTick = 100 * time.Microsecond

// await waits for a flight, asleep as far as it can: looking at a fence costs a
// trip to the GL thread, and drivers that wait for one spin.
func (s *Session) await(f *flight) error {
	if f.landed {
		return nil
	}
	v := vigil{expected: s.driver.pace.expect(f.steps), slice: f.slice,
		covered: len(s.driver.flights) > 1, early: s.driver.early}
	if f.slice > 0 {
		v.expected = min(v.expected, f.slice)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	began := s.begins(f)
	// A covered one may have ended while the one before was taken in.
	for ask := v.covered || v.expected < quickTick || s.mayHaveEnded(v, 0); ; ask = s.mayHaveEnded(v, time.Since(began)) {
		if ask {
			reached, err := s.look(*f, v.expected)
			if err != nil || reached {
				return err
			}
		}
		gone := time.Since(f.at)
		f.sliced = f.slice > 0 && gone >= f.slice
		if !f.whole && f.hurried.IsZero() && (f.sliced || s.attention.Load() && s.wantsHurry()) {
			s.hurry()
			f.hurried = time.Now()
		}
		if gone > s.options.Timeout+v.expected {
			return fmt.Errorf("%w: a tick of %d steps has taken %v", ErrStuck, f.steps, gone.Round(time.Millisecond))
		}
		if !f.hurried.IsZero() && time.Since(f.hurried) < hurriedTime {
			s.spinForReport()
			continue
		}
		s.nap(timer, s.napTime(v, f, time.Since(began)))
	}
}

// napTime is how long to sleep after a look at a flight. Whoever wants the driver
// has no other tick cover for this one, and the more time has gone since it was
// told to end, the longer it may still take.
func (s *Session) napTime(v vigil, f *flight, gone time.Duration) time.Duration {
	if !s.attention.Load() {
		return v.nap(gone)
	}
	v.covered = false
	if f.hurried.IsZero() {
		return v.nap(gone)
	}
	return min(v.nap(gone), max(time.Since(f.hurried)/4, shortestNap))
}

// mayHaveEnded reports whether a look at the fence is worth its price. Where the
// host sees what kernels write, a tick that has not reported has not ended.
func (s *Session) mayHaveEnded(v vigil, gone time.Duration) bool {
	c := s.options.Capabilities
	if c == nil || !c.KernelWritesSeen {
		return true
	}
	return atomic.LoadUint32(&s.words[wordTicks]) != s.driver.ticks || v.overdue(gone)
}

// spinForReport looks a few microseconds for the report of a tick that was told
// to end.
func (s *Session) spinForReport() {
	for range 1024 {
		if atomic.LoadUint32(&s.words[wordTicks]) != s.driver.ticks {
			return
		}
	}
}

// begins is when the GPU began with a flight, as far as is known: not before the
// one ahead of it had ended.
func (s *Session) begins(f *flight) time.Time {
	if s.driver.reached.After(f.at) {
		return s.driver.reached
	}
	return f.at
}

// wantsHurry reports whether the tick should not run to its end: somebody waits
// who may come next. Persistent ticks have no end of their own.
func (s *Session) wantsHurry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.stopping || s.mu.closed {
		return true
	}
	for _, a := range s.mu.asks {
		if a.hurry || s.form.Got == Persistent {
			if !a.preempt || s.driver.ranSince {
				return true
			}
		}
	}
	return false
}

// look reports whether a flight has ended.
func (s *Session) look(f flight, expected time.Duration) (reached bool, err error) {
	s.counts.looks.Add(1)
	wait := time.Duration(0)
	if expected < quickTick {
		wait = quickTick
	}
	err = s.context.Do(func(gl *glctx.GL) (err error) {
		reached, err = waitFence(gl, f.fence, wait)
		if !reached && wait == 0 {
			gl.Quiet()
		}
		return err
	})
	return reached, err
}

// waitFence reports whether a fence is reached within d, and then deletes it.
func waitFence(gl *glctx.GL, fence glctx.Fence, d time.Duration) (bool, error) {
	reached, err := gl.WaitFence(fence, d)
	if err != nil || !reached {
		return false, err
	}
	gl.DeleteFence(fence)
	return true, gl.CheckLost()
}

// hurriedTime is how long the driver looks without a nap for the end of a tick
// that was told to end.
const hurriedTime = 300 * time.Microsecond

// nap sleeps, if nobody asks for the driver. Go's timers are good for
// milliseconds; what is shorter sleeps in the operating system.
func (s *Session) nap(timer *time.Timer, d time.Duration) {
	s.counts.naps.Add(1)
	if d >= interruptibleNap {
		timer.Reset(d)
		select {
		case <-timer.C:
		case <-s.wake:
			timer.Stop()
		}
		return
	}
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&t, nil) // woken early is as good
}
