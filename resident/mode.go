//go:build linux

package resident

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/loops"
)

// Mode describes how a session runs.
type Mode struct {
	Requested Strategy
	Actual    Strategy
	Reason    string // why they differ, or ""

	// GridBarrier is set where phases are separated by a grid barrier within a dispatch;
	// otherwise each phase is a dispatch.
	GridBarrier bool

	// MaxSteps bounds the steps of a group in a dispatch, because the driver ends longer
	// loops; 0 is no limit.
	MaxSteps uint32

	loopLimit uint32 // loop turns of an invocation after which the driver ends loops; 0: none
}

// String returns the actual strategy, and the reason where it is not the requested one.
func (m Mode) String() string {
	if m.Reason == "" {
		return m.Actual.String()
	}
	return fmt.Sprintf("%v instead of %v: %s", m.Actual, m.Requested, m.Reason)
}

// chooseMode returns the mode of a kernel.
func chooseMode(k Kernel, o Options, info glctx.Info) Mode {
	m := Mode{Requested: o.Strategy, Actual: o.Strategy}
	limit := loops.Limit(info)
	caps := o.Capabilities
	if caps != nil {
		limit = caps.LoopLimit
		// Threads of a software driver that wait for each other share CPUs with all else: a
		// bounded wait can end before a thread gets its turn.
		m.GridBarrier = k.lockstep() && limit == 0 && k.Groups <= caps.Residency && !(info.Software() && k.Groups > 1)
	}
	if limit > 0 {
		m.MaxSteps = uint32(min(max(1, loops.Turns(limit, k.stepTurns(), 0)), epochSteps))
		m.loopLimit = limit
	}
	if m.Actual == Persistent {
		if m.Reason = caps.persistentRefusal(k, m.MaxSteps); m.Reason != "" {
			m.Actual = Redispatch
		}
	}
	if m.Actual != Mega && m.Actual != Persistent {
		m.GridBarrier = false // a dispatch is a barrier too, at which the session can stop
	}
	return m
}

// checkLoops returns ErrLoopLimit, wrapped, where one step of a kernel has more loops than
// the driver allows.
func (m Mode) checkLoops(k Kernel) error {
	if loops.Turns(m.loopLimit, k.stepTurns(), 0) == 0 {
		return loops.TooLong(fmt.Sprintf("a step of kernel %s, by its Kernel.Loops,", k.Source.Name()), k.stepTurns(), m.loopLimit)
	}
	return nil
}

// withoutGridBarrier returns the mode of a kernel whose groups do not run at the same
// time.
func (m Mode) withoutGridBarrier() Mode {
	m.GridBarrier = false
	if m.Actual == Persistent {
		m.Actual, m.Reason = Redispatch, "the kernel's groups do not run all at the same time"
	}
	return m
}

// persistentRefusal returns why a kernel cannot run persistently, or "".
func (c *Capabilities) persistentRefusal(k Kernel, maxSteps uint32) string {
	switch {
	case c == nil:
		return "the driver was not probed"
	case maxSteps > 0:
		return "the driver ends long loops"
	case !c.HostWritesSeen:
		return "the kernel does not see what the host writes during a dispatch"
	case !c.KernelWritesSeen:
		return "the host does not see what the kernel writes during a dispatch"
	case !c.DispatchReturns:
		return "the driver runs a kernel within the call that dispatches it"
	case k.lockstep() && k.Groups > c.Residency:
		return fmt.Sprintf("%d groups wait for each other after each phase, and %d can", k.Groups, c.Residency)
	}
	return ""
}
