//go:build linux

package resident

import (
	"time"

	"github.com/shadercache/shadercache/resident/internal/pace"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// epochSteps is the number of steps of an epoch: counts within it are 32-bit.
const epochSteps = 1 << 30

// maxDispatches bounds the dispatches of a submission.
const maxDispatches = 4096

// commandFlags returns the flags of the command block.
func (c *config) commandFlags() uint32 {
	flags := uint32(0)
	for _, f := range []struct {
		set bool
		bit uint32
	}{
		{c.kernel.lockstep(), wire.FlagLockstep},
		{c.kernel.Claim, wire.FlagClaim},
		{c.caps.HostWritesSeen, wire.FlagHostVisible},
		{c.mode.GridBarrier, wire.FlagGridBarrier},
		{c.mode.Actual == Persistent, wire.FlagKeepIdle},
		{c.groupsWait() && c.independentGroups(), wire.FlagBoundLead},
		{c.groupsWait() && c.caps.HostWritesSeen && !c.kernel.lockstep() && !c.kernel.Claim, wire.FlagWaitMessage},
	} {
		if f.set {
			flags |= f.bit
		}
	}
	return flags
}

// groupsWait reports whether groups wait within a tick, for group 0 or for messages. On a
// software driver they would take the CPU from what they wait for, and it may end those
// loops.
func (c *config) groupsWait() bool {
	return c.mode.Actual == Persistent && (c.options.test.groupsWait || !c.synchronous)
}

// answersDuring reports whether a kernel sees a message during a dispatch and the host sees
// its answer.
func (c *config) answersDuring() bool {
	return c.caps.HostWritesSeen && c.caps.KernelWritesSeen && !c.synchronous
}

// independentGroups reports whether groups do their steps at their own pace.
func (c *config) independentGroups() bool {
	return !c.kernel.lockstep() && !c.kernel.Claim && c.kernel.Groups > 1
}

// depth returns the number of submissions in flight.
func (c *config) depth() int {
	switch c.mode.Actual {
	case Double:
		return 2
	case Triple:
		return 3
	}
	return 1
}

// stepsPerRound returns the steps of a dispatch with a budget of one.
func (c *config) stepsPerRound() uint64 {
	if c.kernel.Claim {
		return uint64(c.kernel.Groups)
	}
	return 1
}

// dispatchesPerRound returns the dispatches that do one step, each with a status.
func (c *config) dispatchesPerRound() uint32 {
	if c.kernel.lockstep() && !c.mode.GridBarrier {
		return c.kernel.Phases
	}
	return 1
}

// chainLength returns the dispatches of a submission, without those that phases add.
func (c *config) chainLength() int {
	if c.mode.Actual == Chain {
		return c.options.ChainLength
	}
	return 1
}

// divide divides steps into dispatches: count rounds with a budget for each group.
func (c *config) divide(steps uint64) (budget uint32, count int) {
	rounds := (steps + c.stepsPerRound() - 1) / c.stepsPerRound()
	if c.kernel.lockstep() && !c.mode.GridBarrier {
		return 1, int(min(rounds, max(1, maxDispatches/uint64(c.kernel.Phases))))
	}
	count = int(min(uint64(c.chainLength()), rounds))
	perDispatch := (rounds + uint64(count) - 1) / uint64(count)
	if budget := uint64(c.options.Budget); budget > 0 && c.depth() > 1 { // see queuedRounds
		perDispatch = max(min(budget, rounds), (rounds+maxQueuedRounds-1)/maxQueuedRounds)
		count = int((rounds + perDispatch - 1) / perDispatch)
	}
	if limit := uint64(c.mode.MaxSteps); limit > 0 && perDispatch > limit {
		// More dispatches in one submission, rather than more submissions.
		perDispatch = limit
		count = int(min((rounds+limit-1)/limit, maxDispatches))
	}
	return uint32(min(perDispatch, epochSteps)), count
}

// A flush takes some 7 us of the GPU's time on an H200, also behind another one, and a dispatch
// behind another one 2.6: so ticks that are queued are submitted several at once, as many as
// take queuedTime.
const (
	queuedTime      = time.Millisecond
	maxQueuedRounds = 16
)

// queuedRounds returns how many dispatches of Options.Budget a submission has where others
// are queued.
func (sc *scheduler) queuedRounds() uint64 {
	if sc.depth() == 1 || !sc.seesEnd() || !sc.estimator.Known() {
		return 1
	}
	one := max(sc.estimator.Expect(uint64(sc.options.Budget)*sc.stepsPerRound()), 1)
	return uint64(min(max(min(queuedTime, sc.tickTime())/one, 1), maxQueuedRounds))
}

// tickTime returns how long a submission that ends by itself should take.
func (sc *scheduler) tickTime() time.Duration {
	if sc.mode.Actual == Mega {
		return sc.run.tickTime(megaTicks * sc.options.TickTime)
	}
	return sc.run.tickTime(sc.options.TickTime)
}

// timeLimit returns the time after which the end of a tick is requested, because its
// steps have become slower: 0 where the user set the steps, or no kernel sees the
// request.
func (sc *scheduler) timeLimit() time.Duration {
	if sc.mode.Actual == Persistent || sc.options.Budget > 0 || !sc.caps.HostWritesSeen {
		return 0
	}
	return 2 * sc.tickTime()
}

// stepBoundQuarters is the step bound of a persistent tick, in quarters of the steps
// that the slowest group does in a slice. Group 0 polls the doorbell, so where steps
// are short the others are faster. Without a bound their lead would grow with every
// slice, and aligning the groups would take as long.
const stepBoundQuarters = 5

// hasStepBound reports whether a persistent tick has a step bound: where groups are
// independent and the step time is known. Idle groups do few steps, which says nothing
// about it.
func (sc *scheduler) hasStepBound() bool {
	return sc.independentGroups() && sc.estimator.Known() && sc.status.Idle == 0
}

// setStepBound sets a target below that of the run, at which group 0 keeps answering
// messages. No tick runs.
func (sc *scheduler) setStepBound(bound uint32) {
	flags := sc.commandFlags()
	if bound < sc.target && flags&wire.FlagBoundLead != 0 {
		flags |= wire.FlagStepBound
	}
	sc.words.SetTarget(min(bound, sc.target), flags)
}

// nextSteps returns the steps of the next submission, of those that are left. After an
// idle time it is short: see pace.WarmUp.
func (sc *scheduler) nextSteps(left uint64) uint64 {
	last := sc.lastSteps
	switch {
	case sc.mode.Actual == Persistent && (sc.hasStepBound() || sc.synchronous):
		return sc.estimator.Budget(stepBoundQuarters*sc.run.tickTime(sc.options.Slice)/4, last)
	case sc.mode.Actual == Persistent:
		return left
	case sc.options.Budget > 0:
		return uint64(sc.options.Budget) * sc.stepsPerRound() * uint64(sc.chainLength()) * sc.queuedRounds()
	case sc.mode.Actual == Mega:
		last *= pace.MaxGrowth
	}
	divisor := time.Duration(1)
	if len(sc.submissions) == 0 {
		divisor = pace.WarmUp(time.Since(sc.timer.LastEnd()))
	}
	return sc.estimator.Budget(sc.tickTime()/divisor, last)
}
