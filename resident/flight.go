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
	case s.form.Got == Persistent:
		return left
	case s.options.Budget > 0:
		return uint64(s.options.Budget) * s.each() * uint64(s.issued())
	case s.form.Got == Mega:
		return p.budget(s.tickTime(megaTicks*s.options.TickTime), maxGrowth*last)
	}
	return p.budget(s.tickTime(s.options.TickTime), last)
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
		if expected > quickTick || f.slice > 0 {
			gl.Quiet()
			return gl.Err()
		}
		if s.depth() == 1 {
			f.landed, err = waitFence(gl, f.fence, quickTick)
		}
		return errors.Join(err, gl.Err())
	})
	s.counts.submissions.Add(1)
	s.driver.flights = append(s.driver.flights, f)
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
	expected := s.driver.pace.expect(f.steps)
	if f.slice > 0 {
		expected = min(expected, f.slice)
	}
	if f.landed {
		return nil
	}
	patience := s.options.Timeout + expected
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	began := s.begins(f)
	for first := true; ; first = false {
		reached, err := s.look(*f, expected)
		if err != nil || reached {
			return err
		}
		gone := time.Since(f.at)
		if f.slice > 0 && gone >= f.slice {
			f.sliced = true
		}
		if !f.whole && f.hurried.IsZero() && (f.sliced || s.attention.Load() && s.wantsHurry()) {
			s.hurry()
			f.hurried = time.Now()
		}
		if gone > patience {
			return fmt.Errorf("%w: a tick of %d steps has taken %v", ErrStuck, f.steps, gone.Round(time.Millisecond))
		}
		if f.hurried.IsZero() || time.Since(f.hurried) > hurriedTime {
			s.nap(timer, nextLook(expected-time.Since(began), first))
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

// Naps while a tick is under way.
const (
	shortestNap = 20 * time.Microsecond
	longestNap  = time.Millisecond
)

// nextLook is how long to sleep before the next look at a tick that should take so
// much longer.
func nextLook(left time.Duration, first bool) time.Duration {
	switch {
	case first:
		// Who sleeps for as long as the last one took never finds out that this one
		// is over sooner.
		left /= 2
	case left < 0:
		left = -left / 2 // the later it is, the longer it may still take
	}
	if left > 2*longestNap {
		return left - longestNap
	}
	return min(max(left/2, shortestNap), longestNap)
}

// nap sleeps, if nobody asks for the driver. Go's timers are good for
// milliseconds; what is shorter sleeps in the kernel.
func (s *Session) nap(timer *time.Timer, d time.Duration) {
	if s.attention.Load() {
		d = shortestNap
	}
	if d > longestNap {
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
