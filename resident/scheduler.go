//go:build linux

package resident

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// driving is what the driver knows.
type driving struct {
	epoch        uint32
	base         uint64 // steps before the epoch
	last         report
	pace         pace
	steps        uint64 // of the newest submission
	target       uint32 // of the order, in steps of the epoch
	flights      []flight
	watch        stopwatch
	checkpointed time.Time
	ranSince     bool // a burst ran since the last preemption
	ticks        uint32
	rearm        bool  // the next submission clears what the last run left
	reclaim      bool  // and begins to claim anew
	ahead        bool  // the report is that of a flight whose fence was not reached yet
	early        bool  // the last tick ended before its steps were done
	empty        int   // ticks in a row that did nothing
	saving       error // why the last checkpoint could not be saved
}

// drive is the driver: it serves what callers ask for at boundaries, where no
// tick is under way, and has the kernel run in bursts in between.
func (s *Session) drive() {
	defer close(s.ended)
	defer s.free()
	for {
		s.attention.Store(false)
		s.serve()
		s.endStopped()
		if s.isOver() {
			s.dismiss()
			return
		}
		s.asleep.Store(true)
		if !s.hasWork() {
			<-s.wake
			s.asleep.Store(false)
			continue
		}
		s.asleep.Store(false)
		if err := s.burst(); err != nil {
			s.forget()
			s.fail(err)
			continue
		}
		if s.isStopping() || s.checkpointDue() {
			s.align()
		}
		s.settle()
		s.keepCheckpoint()
	}
}

func (s *Session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.closed
}

func (s *Session) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stopping
}

// endStopped ends a run that was stopped before it got to another tick.
func (s *Session) endStopped() {
	s.mu.Lock()
	stopped := s.mu.running && s.mu.stopping
	s.mu.Unlock()
	if stopped {
		s.align()
		s.settle()
	}
}

// hasWork reports whether there is a reason for a tick. A kernel that said it
// has nothing to do gets none until there is a message for it.
func (s *Session) hasWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.running || s.mu.failure != nil {
		return false
	}
	return !s.mu.idle || s.unread() > 0
}

// fail ends everything: err is what callers get from now on.
func (s *Session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.failure = fmt.Errorf("resident: kernel %s: %w", s.program.Name(), err)
	s.mu.running = false
	s.tell()
}

// dismiss answers what was still asked when the session was closed.
func (s *Session) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.mu.asks {
		a.done <- ErrClosed
	}
	s.mu.asks = nil
	s.mu.running = false
	s.tell()
}

// settle tells callers what the burst came to.
func (s *Session) settle() {
	r := s.driver.last
	s.mu.Lock()
	defer s.mu.Unlock()
	steps := r.least
	if r.halted == s.kernel.Groups {
		steps = r.most
	}
	if s.mu.failure != nil {
		return
	}
	before := s.mu.progress
	s.mu.base = s.driver.base
	s.mu.progress = s.driver.base + uint64(steps)
	s.counts.steps.Add(s.mu.progress - min(before, s.mu.progress))
	s.mu.halted = r.halted
	s.mu.idle = r.idle == s.kernel.Groups && s.unread() == 0
	switch {
	case r.signal.Kind != SignalRunning:
		s.mu.raised, s.mu.running = r.signal, false
	case r.halted == s.kernel.Groups:
		s.mu.raised, s.mu.running = Signal{Kind: SignalHalt}, false
	case s.mu.progress >= s.mu.goal, s.mu.stopping:
		s.mu.running = false
	}
	s.tell()
}

// burst runs ticks until somebody needs a boundary, or there is no more to do.
func (s *Session) burst() error {
	s.calm()
	target := s.arm()
	// The first one goes out whoever wants a boundary, so that nobody's asking
	// keeps the session from its work.
	over := false
	for first := true; ; first = false {
		for !over && (first || !s.attention.Load() && !s.checkpointDue()) && len(s.driver.flights) < s.depth() && s.planned() < target {
			if err := s.submit(target); err != nil {
				return err
			}
			first = false
		}
		if len(s.driver.flights) == 0 {
			return nil
		}
		ended, err := s.land(target)
		if err != nil {
			return err
		}
		over = over || ended // those that are still under way were told so, too
		// With one CPU, this goroutine and the GL thread's would wake each other for ever
		// where ticks are short, and nobody else would run.
		runtime.Gosched()
	}
}

// arm begins an epoch where the last one is full, and has the next submission
// clear signals. It returns the steps of the epoch to get to.
func (s *Session) arm() uint32 {
	d := &s.driver
	s.mu.Lock()
	goal := s.mu.goal
	s.mu.Unlock()
	if d.last.least >= s.options.trial.epochSteps && d.last.halted < s.kernel.Groups {
		d.base += uint64(d.last.least)
		d.epoch++
		d.last.least, d.last.most = 0, 0
		atomic.StoreUint32(&s.words[wordDone], 0)
	}
	d.last.signal, d.last.idle = Signal{}, 0
	fresh := d.last.least == 0 && d.last.most == 0
	target := uint32(min(goal-d.base, uint64(s.options.trial.epochSteps)))
	s.writeOrder(order{epoch: d.epoch, target: target, budget: 1, poll: s.poll(), base: d.base,
		mode: s.mode(), phases: s.kernel.Phases})
	d.rearm, d.reclaim = true, fresh && s.kernel.Claim
	return target
}

// mode is how dispatches run.
func (s *Session) mode() uint32 {
	mode := uint32(0)
	if s.kernel.lockstep() {
		mode |= modeLockstep
	}
	if s.kernel.Claim {
		mode |= modeClaim
	}
	if s.inflight() {
		mode |= modeInflight
	}
	if s.form.GridBarrier {
		mode |= modeGrid
	}
	if s.form.Actual == Persistent {
		mode |= modeLinger
		mode |= s.waits()
	}
	return mode
}

// waits are the bits that have groups of a persistent tick wait within it. A driver
// that ends loops would end those.
func (s *Session) waits() uint32 {
	mode := uint32(0)
	if !s.options.trial.close && s.context.Info().Software() {
		return mode
	}
	if s.apart() {
		mode |= modeClose
	}
	if s.inflight() && !s.kernel.lockstep() && !s.kernel.Claim {
		mode |= modeAwait
	}
	return mode
}

// inflight reports whether kernels see, during a dispatch, what the host writes.
func (s *Session) inflight() bool {
	c := s.options.Capabilities
	return c != nil && c.HostWritesSeen
}

func (s *Session) poll() uint32 { return s.options.Poll }

// planned is how far the submissions so far should get, in steps of the epoch.
func (s *Session) planned() uint32 {
	planned := uint64(s.driver.last.progress())
	for _, f := range s.driver.flights {
		planned += f.steps
	}
	return uint32(min(planned, defaultEpoch))
}

// progress is the steps that are done, in an epoch.
func (r report) progress() uint32 {
	if r.least == ^uint32(0) {
		return r.most
	}
	return r.least
}

// land waits for the oldest flight and takes its report in. It reports whether
// nothing more is to be submitted.
func (s *Session) land(target uint32) (bool, error) {
	d := &s.driver
	if err := s.await(&d.flights[0]); err != nil {
		return true, err
	}
	f := d.flights[0]
	d.flights = slices.Delete(d.flights, 0, 1)
	r := f.report
	done := uint64(r.progress() - min(d.last.progress(), r.progress()))
	moved := r.most > d.last.most
	since := uint64(r.progress() - min(f.from, r.progress()))
	s.learn(&f, done)
	s.count(r)
	d.early = since < f.steps && !f.sliced
	d.ranSince = d.ranSince || done > 0
	d.last = r
	s.mu.Lock()
	s.tell() // messages may have come
	s.mu.Unlock()
	over := r.signal.Kind != SignalRunning || r.progress() >= target || r.halted == s.kernel.Groups ||
		r.idle == s.kernel.Groups
	if since == 0 && !moved && !over {
		return true, s.noteEmpty(f)
	}
	d.empty = 0
	s.rest()
	return over || f.sliced, nil
}

// learn takes in how long a flight took, in which so much was done.
func (s *Session) learn(f *flight, done uint64) {
	d := &s.driver
	d.watch.add(f.sighting, work{done, f.steps, f.report.ticks - d.ticks, uint32(f.rounds) * s.perRound()})
	d.ahead = len(d.flights) > 0 && d.watch.lead > 0
	if len(d.flights) > 0 && d.flights[0].landed && d.flights[0].report.ticks == f.report.ticks {
		return // the report is that of the next one: what each of them did is not told
	}
	steps, took, longest := d.watch.take()
	s.counts.longest.Store(max(s.counts.longest.Load(), int64(longest)))
	// In alignments only some of the groups work, and groups that wait for messages
	// take hardly any steps.
	if !f.whole && !(s.form.Actual == Persistent && f.report.idle > 0) {
		d.pace.note(steps, took)
	}
}

// mostEmpty is how many ticks in a row may do nothing.
const mostEmpty = 8

// noteEmpty ends a burst after a tick without a step. Somebody may have asked
// for its end as soon as it began; but that does not happen again and again.
func (s *Session) noteEmpty(f flight) error {
	if s.driver.empty++; s.driver.empty < mostEmpty || s.attention.Load() {
		return nil
	}
	return fmt.Errorf("%w: %d ticks in a row ended without a step, the last one with a budget of %d", ErrStuck, mostEmpty, f.steps)
}

// rest sleeps for Options.Rest, unless somebody wants the driver.
func (s *Session) rest() {
	if s.options.Rest <= 0 || s.attention.Load() {
		return
	}
	timer := time.NewTimer(s.options.Rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
	}
}

// count keeps the statistics of a flight.
func (s *Session) count(r report) {
	ticks := uint64(r.ticks - s.driver.ticks)
	s.driver.ticks = r.ticks
	s.counts.ticks.Add(ticks)
	s.counts.activeGroups.Add(uint64(r.active))
	s.counts.launchedGroups.Add(uint64(s.kernel.Groups))
}

// align is alignGroups for a boundary where somebody looks at the state. It
// reports whether groups had to move. Bursts that end for other reasons, to let
// others in, do without it.
func (s *Session) align() bool {
	before := s.counts.alignments.Load()
	s.mu.Lock()
	failed := s.mu.failure != nil
	s.mu.Unlock()
	if failed {
		return false
	}
	if err := s.alignGroups(); err != nil {
		s.forget()
		s.fail(err)
		return false
	}
	return s.counts.alignments.Load() > before
}

// mostStill is how many ticks in a row may bring groups no closer: whoever wants
// the driver may end some of them at once.
const mostStill = 64

// alignGroups has groups catch up with the one that has done most, so that all
// have done the same steps. After a signal they wait until it was served. Groups
// with nothing to do go on all the same.
func (s *Session) alignGroups() error {
	least := s.driver.last.least
	for still := 0; still < mostStill; still++ {
		r := s.driver.last
		if s.kernel.lockstep() || s.kernel.Claim || r.signal.Kind != SignalRunning || r.least >= r.most {
			return nil
		}
		if r.least > least {
			least, still = r.least, 0
		}
		s.counts.alignments.Add(1)
		s.calm()
		s.arm()
		s.writeOrder(order{epoch: s.driver.epoch, target: r.most, budget: r.most - r.least, poll: s.poll(),
			base: s.driver.base, mode: s.mode()&^modeAwait | modeLinger | modeSkip, phases: s.kernel.Phases})
		steps := s.nextAlignment(uint64(r.most - r.least))
		if err := s.submitSteps(steps, steps, true); err != nil {
			return err
		}
		if _, err := s.land(r.most); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: groups do not come to the same step", ErrStuck)
}

// nextAlignment is how many of so many steps the next submission brings groups
// closer: as many as should not take much longer than others do.
func (s *Session) nextAlignment(left uint64) uint64 {
	if aim := s.aim(); s.driver.pace.expect(left) > 2*aim {
		return s.driver.pace.budget(aim, left)
	}
	return left
}
