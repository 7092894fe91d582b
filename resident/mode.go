//go:build linux

package resident

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// Mode is how a session runs.
type Mode struct {
	Requested Strategy
	Actual    Strategy
	Reason    string // what made the difference, or ""

	// GridBarrier says that phases meet inside a dispatch, as far as Got allows;
	// otherwise each phase is a dispatch.
	GridBarrier bool

	// MaxSteps is how many steps a group does in a dispatch at most, because the
	// driver ends longer loops; 0 is no limit.
	MaxSteps uint32
}

func (f Mode) String() string {
	if f.Reason == "" {
		return f.Actual.String()
	}
	return fmt.Sprintf("%v instead of %v: %s", f.Actual, f.Requested, f.Reason)
}

// loopReserve is kept free for the loops of resident.glsl and of drivers'
// arithmetic.
const loopReserve = 5000

// softwareLoops is where llvmpipe ends loops.
const softwareLoops = 65535

// chooseForm decides how a kernel runs.
func chooseForm(k Kernel, o Options, info glctx.Info) Mode {
	f := Mode{Requested: o.Strategy, Actual: o.Strategy}
	limit := uint32(0)
	if info.Software() {
		limit = softwareLoops
	}
	caps := o.Capabilities
	if caps != nil {
		limit = caps.LoopLimit
		f.GridBarrier = k.lockstep() && limit == 0 && caps.canMeet(k.Groups)
	}
	if limit > 0 {
		f.MaxSteps = max(1, (limit-min(limit-1, loopReserve))/(2+k.Loops))
	}
	if f.Actual == Persistent {
		if f.Reason = caps.persistentRefusal(k, f.MaxSteps); f.Reason != "" {
			f.Actual = Redispatch
		}
	}
	if f.Actual != Mega && f.Actual != Persistent {
		f.GridBarrier = false // the dispatch is the barrier, and the cheaper one to stop at
	}
	return f
}

// withoutGridBarrier is the form of a kernel whose groups were found not to run
// at the same time.
func (f Mode) withoutGridBarrier() Mode {
	f.GridBarrier = false
	if f.Actual == Persistent {
		f.Actual, f.Reason = Redispatch, "the kernel's groups do not run all at the same time"
	}
	return f
}

// persistentRefusal says why a kernel cannot run persistently, or "".
func (c *Capabilities) persistentRefusal(k Kernel, maxSteps uint32) string {
	switch {
	case c == nil:
		return "what the driver does in flight was not probed"
	case maxSteps > 0:
		return "the driver ends long loops"
	case !c.HostWritesSeen:
		return "the kernel does not see what the host writes during a dispatch"
	case !c.KernelWritesSeen:
		return "the host does not see what the kernel writes during a dispatch"
	case k.lockstep() && !c.canMeet(k.Groups):
		return fmt.Sprintf("%d groups meet after each phase and %d can", k.Groups, c.Residency)
	}
	return ""
}

// canMeet reports whether so many groups run side by side.
func (c *Capabilities) canMeet(groups uint32) bool { return c != nil && groups <= c.Residency }
