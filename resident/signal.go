package resident

import "fmt"

// SignalKind says what a kernel stopped for. Kinds from SignalOwn on belong to
// kernels.
type SignalKind uint32

// The kinds of signal. What a syscall, a checkpoint or a breakpoint means is
// between the kernel and its host: the run ends, and the next one goes on.
const (
	SignalRunning    SignalKind = iota
	SignalHalt                  // all groups have halted, or the kernel says so
	SignalSyscall               // the kernel wants something of the host
	SignalCheckpoint            // a good place for Session.Checkpoint
	SignalBreakpoint            // somebody wants to look
	SignalFault                 // something went wrong: see the arguments below

	SignalOwn SignalKind = 16
)

// Arguments of SignalFault.
const (
	// FaultLoopCut: the driver ended a loop, and steps that were claimed were not
	// done. Kernel.Loops says too little.
	FaultLoopCut uint32 = 1
	// FaultBarrierStuck: groups did not all come to a barrier within a dispatch.
	FaultBarrierStuck uint32 = 2
)

var signalNames = [...]string{"running", "halt", "syscall", "checkpoint", "breakpoint", "fault"}

func (k SignalKind) String() string {
	if int(k) < len(signalNames) {
		return signalNames[k]
	}
	return fmt.Sprintf("signal %d", uint32(k))
}

// Signal is what a kernel told the host by residentSignal.
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

// Outcome is how a run ended.
type Outcome struct {
	Steps  uint64 // that the run did
	Signal Signal // SignalRunning where the steps were done or the run was stopped; SignalHalt once all groups have halted
}
