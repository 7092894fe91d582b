//go:build linux

package resident

import (
	"fmt"
	"runtime"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/pace"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// scheduler submits the ticks of a session and serves requests between them. One
// goroutine, loop, owns it: callers reach it through runState and the mailbox only. It
// alone writes the command block.
type scheduler struct {
	*config
	context *glctx.Context
	program *cache.Handle
	gl      memory // used on the GL thread
	words   wire.Shared
	mail    *mailbox
	run     *runState

	epoch  uint32
	base   uint64      // steps before the epoch
	target uint32      // of the command, in steps of the epoch
	status wire.Status // that was read last

	submissions []submission // oldest first
	lastSteps   uint64       // of the newest submission
	ticks       uint32       // in the last counted status
	estimator   pace.Estimator
	timer       pace.TickTimer

	checkpointed time.Time
	advanced     bool // steps were done since the last preemption
	clearRun     bool // the next submission clears what ticks before left in device memory
	clearClaims  bool // and the claims of the last epoch
	endedEarly   bool // the last tick ended before its steps were done
	emptyTicks   int  // ticks in a row without a step
	workSoon     bool // the last wake-up came within workSpin
	yielded      time.Time
}

// loop serves requests at boundaries, where no tick runs, and runs bursts of ticks in
// between, until the session is closed.
func (sc *scheduler) loop() {
	defer close(sc.run.ended)
	defer sc.release()
	for {
		sc.run.attention.Store(false)
		sc.serveRequests()
		sc.endStoppedRun()
		if sc.run.view().closed {
			sc.run.dismiss()
			return
		}
		sc.run.sleeping.Store(true)
		if !sc.hasWork() {
			sc.waitForWork()
			sc.run.sleeping.Store(false)
			continue
		}
		sc.run.sleeping.Store(false)
		if err := sc.burst(); err != nil {
			sc.failSession(err)
			continue
		}
		due := sc.checkpointDue()
		if sc.run.view().stopping || due {
			sc.align()
		}
		sc.publishStatus()
		if due && sc.run.view().failure == nil { // of a session that failed while it aligned the state is wrong
			sc.saveCheckpoint()
		}
	}
}

// workSpin is how long the scheduler spins for work before it sleeps: longer than two
// sessions that forward to each other take for a message there and back while both sleep,
// so that they begin to spin.
const workSpin = pace.LongestSpin

// waitForWork waits for a wake-up. It spins where the last one came soon, as the next
// message of a caller that has its answer does: waking a goroutine takes 15 us or more.
// A software driver needs the CPU itself.
func (sc *scheduler) waitForWork() {
	if sc.run.woken.Swap(false) {
		runtime.Gosched() // this thread runs the caller at once, another one would have to be woken
	}
	began := time.Now()
	for sc.workSoon && time.Since(began) < workSpin {
		for range 64 {
			if len(sc.run.wake) > 0 {
				<-sc.run.wake
				return
			}
		}
	}
	<-sc.run.wake
	sc.workSoon = time.Since(began) < workSpin && !sc.synchronous && runtime.GOMAXPROCS(0) > 1
}

// release releases the memory and the program.
func (sc *scheduler) release() {
	if sc.mail != nil {
		sc.mail.unmap()
	}
	// An error means that the context is lost, and its memory with it.
	_ = sc.context.Do(func(gl *glctx.GL) error { sc.gl.deleteBuffers(gl); return nil })
	sc.program.Release()
}

// failSession abandons the submissions and ends the session with an error.
func (sc *scheduler) failSession(err error) {
	sc.abandonSubmissions()
	sc.run.setFailure(fmt.Errorf("resident: kernel %s: %w", sc.program.Name(), err))
}

// serveRequests serves all reads and writes of the state, and at most one preemption.
func (sc *scheduler) serveRequests() {
	for {
		q := sc.run.nextRequest(sc.advanced || !sc.hasWork())
		if q == nil {
			break
		}
		if q.preempt {
			sc.advanced = false
		} else if sc.align() {
			sc.publishStatus()
		}
		if err := sc.run.view().failure; err != nil {
			q.done <- err
		} else {
			q.done <- q.do(sc)
		}
	}
	sc.run.locked(func() {
		if len(sc.run.requests) > 0 {
			sc.run.attention.Store(true) // the next burst has one tick
		}
	})
}

// endStoppedRun ends a run that was stopped before its next tick.
func (sc *scheduler) endStoppedRun() {
	if v := sc.run.view(); v.running && v.stopping {
		sc.align()
		sc.publishStatus()
	}
}

// hasWork reports whether there is a reason for a tick. An idle kernel gets one when
// there is a message.
func (sc *scheduler) hasWork() bool {
	v := sc.run.view()
	return v.running && v.failure == nil && (!v.idle || sc.mail.unread() > 0)
}

// publishStatus makes the status visible to callers.
func (sc *scheduler) publishStatus() {
	v := sc.status
	halted := v.Halted == sc.kernel.Groups
	steps := v.Least
	if halted {
		steps = v.Most
	}
	sc.run.publishBoundary(boundary{base: sc.base, progress: sc.base + uint64(steps), signal: signalOf(v), halted: halted, sent: sc.mail.number(),
		idle: v.Idle == sc.kernel.Groups && sc.mail.unread() == 0})
}

// burst runs ticks until a caller needs a boundary, or there is no more to do. Its
// first tick is always submitted, so that requests cannot keep the session from its
// work.
func (sc *scheduler) burst() error {
	target := sc.beginBurst()
	over := false
	for first := true; ; first = false {
		for !over && (first || !sc.run.attention.Load() && !sc.checkpointDue()) && len(sc.submissions) < sc.depth() && sc.planned() < target {
			if err := sc.submitNext(target); err != nil {
				return err
			}
			first = false
		}
		if len(sc.submissions) == 0 {
			return nil
		}
		ended, err := sc.completeOldest(target)
		if err != nil {
			return err
		}
		over = over || ended // the queued submissions end early for the same reason
		sc.yield()
	}
}

// yieldInterval is the time between two yields of a burst: each wakes a thread that searches
// for work, which takes some microseconds.
const yieldInterval = time.Millisecond

// yield lets other goroutines run. With few CPUs, this one and the GL thread's would wake each
// other without end where ticks are short.
func (sc *scheduler) yield() {
	if now := time.Now(); now.Sub(sc.yielded) > yieldInterval || sc.synchronous || runtime.GOMAXPROCS(0) == 1 {
		sc.yielded = now
		runtime.Gosched()
	}
}

// beginBurst withdraws a stop request, begins an epoch where the last one is full, writes the
// command block, and returns the steps of the epoch to reach.
func (sc *scheduler) beginBurst() uint32 {
	stopped := sc.mail.clearStop()
	// Signals, relayed stops, and that a chain or a step is over outlast their tick. Clearing
	// takes a transfer before the first tick, so it is left out where there is none of them.
	sc.clearRun = sc.clearRun || stopped || SignalKind(sc.status.Kind) != SignalRunning || sc.mode.Actual == Chain || sc.kernel.lockstep()
	goal := sc.run.view().goal
	if sc.status.Least >= sc.options.test.epochSteps && sc.status.Halted < sc.kernel.Groups {
		sc.base += uint64(sc.status.Least)
		sc.epoch++
		sc.status.Least, sc.status.Most = 0, 0
		sc.words.Store(wire.AtDone, 0)
	}
	sc.status.Kind, sc.status.Argument, sc.status.Source, sc.status.Idle = 0, 0, 0, 0
	fresh := sc.status.Least == 0 && sc.status.Most == 0
	target := uint32(min(goal-sc.base, uint64(sc.options.test.epochSteps)))
	sc.writeCommand(wire.Command{Target: target, Budget: 1, Flags: sc.commandFlags()})
	sc.clearClaims = fresh && sc.kernel.Claim
	return target
}

// writeCommand writes a command, with epoch, base, poll interval and phases filled in.
func (sc *scheduler) writeCommand(c wire.Command) {
	c.Epoch, c.Base, c.Poll, c.Phases = sc.epoch, sc.base, sc.options.Poll, sc.kernel.Phases
	sc.target = c.Target
	sc.words.WriteCommand(c)
}

// planned returns the steps of the epoch that the submissions reach.
func (sc *scheduler) planned() uint32 {
	planned := uint64(sc.status.Progress())
	for _, f := range sc.submissions {
		planned += f.steps
	}
	return uint32(min(planned, epochSteps))
}

// align brings all groups to the same step before the state is read, and reports
// whether groups had to move. Bursts that end for other reasons do not align.
func (sc *scheduler) align() bool {
	if sc.run.view().failure != nil {
		return false
	}
	moved, err := sc.alignGroups()
	if err != nil {
		sc.failSession(err)
	}
	return moved && err == nil
}

// maxStill bounds the ticks in a row that bring groups no closer: requests may end
// some of them at once.
const maxStill = 64

// alignGroups runs the groups that are behind up to the step of the first one. With a
// pending signal they stay where they are. Idle groups skip their steps. It reports whether
// groups had to move.
func (sc *scheduler) alignGroups() (moved bool, err error) {
	least := sc.status.Least
	for still := 0; still < maxStill; still++ {
		v := sc.status
		if sc.kernel.lockstep() || sc.kernel.Claim || SignalKind(v.Kind) != SignalRunning || v.Least >= v.Most {
			return moved, nil
		}
		if v.Least > least {
			least, still = v.Least, 0
		}
		moved = true
		sc.run.count(func(n *Stats) { n.Alignments++ })
		sc.beginBurst()
		sc.writeCommand(wire.Command{Target: v.Most, Budget: v.Most - v.Least,
			Flags: sc.commandFlags()&^wire.FlagWaitMessage | wire.FlagKeepIdle | wire.FlagSkipIdle})
		steps := sc.alignmentSteps(uint64(v.Most - v.Least))
		if err := sc.submitSteps(steps, steps, true); err != nil {
			return true, err
		}
		if _, err := sc.completeOldest(v.Most); err != nil {
			return true, err
		}
	}
	return true, fmt.Errorf("%w: groups do not reach the same step", ErrStuck)
}

// alignmentSteps returns how many of the steps that are left the next submission does:
// as many as take about the time of a tick.
func (sc *scheduler) alignmentSteps(left uint64) uint64 {
	if target := sc.tickTime(); sc.estimator.Expect(left) > 2*target {
		return sc.estimator.Budget(target, left)
	}
	return left
}

// rest sleeps for Options.Rest, unless a caller needs a boundary.
func (sc *scheduler) rest() {
	if sc.options.Rest > 0 && !sc.run.attention.Load() {
		pace.SleepUntilWake(sc.options.Rest, sc.run.wake)
	}
}
