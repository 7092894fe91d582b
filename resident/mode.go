//go:build linux

package resident

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
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
}

// String returns the actual strategy, and the reason where it is not the requested one.
func (m Mode) String() string {
	if m.Reason == "" {
		return m.Actual.String()
	}
	return fmt.Sprintf("%v instead of %v: %s", m.Actual, m.Requested, m.Reason)
}

// loopReserve is the part of the loop limit for the loops of resident.glsl and of
// drivers' arithmetic.
const loopReserve = 5000

// softwareLoops is the number of back-edges after which llvmpipe ends loops.
const softwareLoops = 65535

// chooseMode returns the mode of a kernel.
func chooseMode(k Kernel, o Options, info glctx.Info) Mode {
	m := Mode{Requested: o.Strategy, Actual: o.Strategy}
	limit := uint32(0)
	if info.Software() {
		limit = softwareLoops
	}
	caps := o.Capabilities
	if caps != nil {
		limit = caps.LoopLimit
		m.GridBarrier = k.lockstep() && limit == 0 && caps.coResident(k.Groups)
	}
	if limit > 0 {
		m.MaxSteps = max(1, (limit-min(limit-1, loopReserve))/(2+k.Loops))
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
	case k.lockstep() && !c.coResident(k.Groups):
		return fmt.Sprintf("%d groups wait for each other after each phase, and %d can", k.Groups, c.Residency)
	}
	return ""
}
