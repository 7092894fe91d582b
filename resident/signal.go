package resident

import (
	"fmt"

	"github.com/shadercache/shadercache/resident/internal/wire"
)

// SignalKind is the reason why a kernel stopped. Kinds from SignalOwn on are defined by
// kernels.
type SignalKind uint32

// The kinds of signal, as resident_control.glsl has them. The kernel and its host define what
// a syscall, a checkpoint or a breakpoint means: a signal ends the run, and the next run
// continues.
const (
	SignalRunning    SignalKind = 0  // no signal
	SignalHalt       SignalKind = 1  // all groups have halted, or the kernel raised it
	SignalSyscall    SignalKind = 2  // the kernel needs the host
	SignalCheckpoint SignalKind = 3  // a good place for Session.Checkpoint
	SignalBreakpoint SignalKind = 4  // a place to inspect the state
	SignalFault      SignalKind = 5  // an error of the kernel
	SignalOwn        SignalKind = 16 // kinds from here on are the kernel's
)

var signalNames = [...]string{"running", "halt", "syscall", "checkpoint", "breakpoint", "fault"}

func (k SignalKind) String() string { return wire.Name(signalNames[:], "signal", k) }

// Signal is what a kernel raised with residentSignal.
type Signal struct {
	Kind     SignalKind
	Argument uint32
	Group    uint32
}

func (s Signal) String() string {
	if s.Kind == SignalRunning {
		return s.Kind.String()
	}
	return fmt.Sprintf("%v %d of group %d", s.Kind, s.Argument, s.Group)
}

// signalOf returns the signal of a status.
func signalOf(v wire.Status) Signal { return Signal{SignalKind(v.Kind), v.Argument, v.Source} }

// Outcome is the result of a run.
type Outcome struct {
	Steps  uint64 // of the run
	Signal Signal // SignalRunning after all steps or a stop; SignalHalt once all groups have halted
}
