package resident

import "fmt"

// SignalKind says what a kernel stopped for. Kinds from SignalOwn on belong to
// kernels.
type SignalKind uint32

// The kinds of signal.
const (
	SignalRunning SignalKind = iota
	SignalHalt
	SignalSyscall
	SignalCheckpoint
	SignalBreakpoint
	SignalFault

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
