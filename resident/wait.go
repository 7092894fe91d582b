//go:build linux

package resident

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/pace"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// waitSubmission waits for a submission. It sleeps as much as it can: polling a fence
// is a trip to the GL thread, and drivers spin when they wait for one.
func (sc *scheduler) waitSubmission(f *submission) error {
	if f.fence == (glctx.Fence{}) && !f.reached && !sc.waitEnd(f) {
		if err := sc.addFence(f); err != nil {
			return err
		}
	}
	if f.reached {
		return nil
	}
	policy := sc.pollPolicy(f)
	began := sc.timer.BeginOf(f.Sample)
	for first := true; ; first = false {
		now := time.Now()
		if sc.mayHaveEnded(f, policy, now.Sub(began)) || first && policy.Expected < pace.ShortTick {
			if err := sc.pollFences(policy.Expected); err != nil || f.reached {
				return err
			}
		} else {
			f.Missed = now
		}
		elapsed := time.Since(began)
		sc.stopTick(f, elapsed)
		if elapsed > sc.options.Timeout+policy.Expected {
			return fmt.Errorf("%w: a tick of %d steps has taken %v", ErrStuck, f.steps, elapsed.Round(time.Millisecond))
		}
		if !f.stopAt.IsZero() && time.Since(f.stopAt) < stopSpinTime {
			sc.spinForStatus()
			continue
		}
		sc.run.count(func(n *Stats) { n.Sleeps++ })
		pace.Sleep(sc.sleepTime(policy, f, time.Since(began)), sc.run.wake)
	}
}

// pollPolicy returns when to poll for the end of a submission.
func (sc *scheduler) pollPolicy(f *submission) pace.PollPolicy {
	p := pace.PollPolicy{Expected: sc.estimator.Expect(f.steps), Slice: f.slice,
		Covered: len(sc.submissions) > 1, Early: sc.endedEarly}
	if f.slice > 0 {
		p.Expected = min(p.Expected, f.slice)
	}
	return p
}

// seesEnd reports whether mapped memory shows the end of each tick: a dispatch with work
// ends exactly one. A fence behind every tick would take 3.5 us of the GPU's time on an
// H200, and a trip to the GL thread.
func (sc *scheduler) seesEnd() bool {
	seen := sc.caps.KernelWritesSeen && !sc.synchronous || sc.options.test.unfenced
	return seen && sc.chainLength() == 1 && sc.mode.Actual != Persistent
}

// waitEnd waits until mapped memory shows the end of a submission without a fence, and
// reports whether it does: not where the tick takes long, because its steps became slower.
func (sc *scheduler) waitEnd(f *submission) bool {
	policy, began := sc.pollPolicy(f), sc.timer.BeginOf(f.Sample)
	for now := time.Now(); !sc.options.test.unseen; now = time.Now() {
		for range 64 {
			if int32(sc.words.Load(wire.AtTicks)-f.endsAt) >= 0 {
				f.reached, f.Seen, f.status = true, time.Now(), sc.words.ReadStatus()
				if len(sc.submissions) > 1 {
					sc.updateExpected(&sc.submissions[1], f.status)
				}
				return true
			}
		}
		f.Missed = now
		elapsed := now.Sub(began)
		if !policy.Spins(elapsed) {
			return false
		}
		sc.stopTick(f, elapsed)
		if d := policy.UntilSpin(elapsed); d > 0 && f.stopAt.IsZero() {
			sc.run.count(func(n *Stats) { n.Sleeps++ })
			pace.Sleep(d, sc.run.wake)
		}
	}
	return false
}

// addFence makes a fence for a submission that has none: behind the newest one, so that
// it is reached later.
func (sc *scheduler) addFence(f *submission) error {
	return sc.context.Do(func(gl *glctx.GL) error {
		f.fence = gl.NewFence()
		gl.Flush()
		return gl.Err()
	})
}

// stopTick requests the end of a submission whose slice or limit is over, or that a
// caller waits for.
func (sc *scheduler) stopTick(f *submission, elapsed time.Duration) {
	f.cut = f.cut || f.slice > 0 && elapsed >= f.slice || sc.isOverlong(f, elapsed)
	if f.whole || !f.stopAt.IsZero() {
		return
	}
	if f.cut || sc.run.attention.Load() && sc.run.endsTick(sc.mode.Actual == Persistent, sc.advanced) {
		sc.mail.requestStop()
		f.stopAt = time.Now()
	}
}

// sleepTime returns the time to sleep before the next poll. While a caller waits, a
// queued tick is no reason to poll late, and after a stop request the interval grows
// with the time since then.
func (sc *scheduler) sleepTime(p pace.PollPolicy, f *submission, elapsed time.Duration) time.Duration {
	if !sc.run.attention.Load() {
		return p.Sleep(elapsed)
	}
	p.Covered = false
	if f.stopAt.IsZero() {
		return p.Sleep(elapsed)
	}
	return min(p.Sleep(elapsed), max(time.Since(f.stopAt)/4, pace.ShortestSleep))
}

// mayHaveEnded reports whether to poll the fence. Where the host sees kernel writes, a
// tick that has not changed the status has not ended.
func (sc *scheduler) mayHaveEnded(f *submission, p pace.PollPolicy, elapsed time.Duration) bool {
	return !sc.caps.KernelWritesSeen || sc.words.Load(wire.AtTicks) != f.beginsAt || p.Overdue(elapsed)
}

// isOverlong reports whether a tick exceeds its limit. A tick that has not begun,
// because the GPU does other work, is not: stopped now, it would end without a step.
func (sc *scheduler) isOverlong(f *submission, elapsed time.Duration) bool {
	return f.limit > 0 && elapsed >= f.limit && sc.words.Load(wire.AtDone) > sc.status.Progress()
}

// stopSpinTime is how long the scheduler spins for the end of a tick after a stop
// request.
const stopSpinTime = 300 * time.Microsecond

// spinForStatus polls mapped memory for some microseconds.
func (sc *scheduler) spinForStatus() {
	for range 1024 {
		if sc.words.Load(wire.AtTicks) != sc.ticks {
			return
		}
	}
}

// pollFences polls the fences of all submissions, the oldest first. Where a tick is
// expected to be short, it waits for the first one.
func (sc *scheduler) pollFences(expected time.Duration) error {
	sc.run.count(func(n *Stats) { n.Polls++ })
	timeout := time.Duration(0)
	if expected < pace.ShortTick {
		timeout = pace.ShortTick
	}
	return sc.context.Do(func(gl *glctx.GL) error {
		for i := range sc.submissions {
			f := &sc.submissions[i]
			if f.fence == (glctx.Fence{}) && !f.reached {
				return nil
			}
			if err := sc.pollFence(gl, f, timeout); err != nil {
				return err
			}
			if !f.reached {
				if i == 0 && timeout == 0 {
					gl.ExpectIdle()
				}
				return nil
			}
			if i+1 < len(sc.submissions) {
				sc.updateExpected(&sc.submissions[i+1], f.status)
			}
			timeout = 0
		}
		return nil
	})
}

// pollFence waits up to timeout for the fence of a submission, and reads its status and
// its timestamps if it is reached.
func (sc *scheduler) pollFence(gl *glctx.GL, f *submission, timeout time.Duration) error {
	if f.reached {
		return nil
	}
	polled := time.Now()
	reached, err := gl.WaitFence(f.fence, timeout)
	if err == nil && reached {
		gl.DeleteFence(f.fence)
		err = gl.CheckLost()
	}
	if err != nil || !reached {
		f.Missed = polled.Add(timeout)
		return err
	}
	f.reached, f.Seen = true, time.Now()
	if !f.untimed {
		f.Begin, f.End = sc.gl.timestamps.read(gl, f.first, f.last)
		if sc.options.Tracer != nil {
			f.gpuSeen = gl.GPUTime()
		}
	}
	f.status = sc.words.ReadStatus()
	return nil
}
