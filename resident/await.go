//go:build linux

package resident

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/glctx"
)

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
	for first := true; ; first = false {
		now := time.Now()
		if s.mayHaveEnded(v, now.Sub(began)) || first && v.expected < quickTick {
			if err := s.look(v.expected); err != nil || f.landed {
				return err
			}
		} else {
			f.missed = now
		}
		gone := time.Since(began)
		f.sliced = f.slice > 0 && gone >= f.slice || f.sliced || s.isOverlong(f, began)
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
	return s.driver.ahead || atomic.LoadUint32(&s.words[wordTicks]) != s.driver.ticks || v.overdue(gone)
}

// isOverlong reports whether a tick goes on far beyond its time. One that has not
// begun, because the GPU does something else, is left alone: it would end without
// a step.
func (s *Session) isOverlong(f *flight, began time.Time) bool {
	return f.limit > 0 && time.Since(began) >= f.limit && atomic.LoadUint32(&s.words[wordDone]) > s.driver.last.progress()
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
func (s *Session) begins(f *flight) time.Time { return later(f.at, s.driver.watch.seen) }

// wantsHurry reports whether the tick should not run to its end: somebody waits
// who may come next. Persistent ticks have no end of their own.
func (s *Session) wantsHurry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.stopping || s.mu.closed {
		return true
	}
	for _, a := range s.mu.asks {
		if a.hurry || s.form.Actual == Persistent {
			if !a.preempt || s.driver.ranSince {
				return true
			}
		}
	}
	return false
}

// look takes in all flights that have ended.
func (s *Session) look(expected time.Duration) error {
	s.counts.looks.Add(1)
	wait := time.Duration(0)
	if expected < quickTick {
		wait = quickTick
	}
	return s.context.Do(func(gl *glctx.GL) error {
		for i := range s.driver.flights {
			f := &s.driver.flights[i]
			if err := s.arrive(gl, f, wait); err != nil {
				return err
			}
			if !f.landed {
				if i == 0 && wait == 0 {
					gl.ExpectIdle()
				}
				return nil
			}
			if i+1 < len(s.driver.flights) {
				s.begin(&s.driver.flights[i+1], f.report)
			}
			wait = 0
		}
		return nil
	})
}

// arrive takes in what a flight has left, if its fence is reached within d.
func (s *Session) arrive(gl *glctx.GL, f *flight, d time.Duration) error {
	if f.landed {
		return nil
	}
	looked := time.Now()
	reached, err := waitFence(gl, f.fence, d)
	if err != nil || !reached {
		f.missed = looked.Add(d)
		return err
	}
	f.landed, f.seen = true, time.Now()
	if !f.prompt {
		f.begin, f.end = s.gl.stamps.read(gl, f.first, f.last)
	}
	f.report = s.readReport()
	return nil
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
