package interpreter

import "fmt"

// Signal is how a machine stands, as the kernel numbers it.
type Signal uint32

// The signals. A run goes on after SignalSyscall behind the SVC, which is served
// first where there is a handler by now, after SignalBreak
// with the instruction at the breakpoint, after SignalCheckpoint where it was;
// after SignalHalt and SignalFault only once SetPC was called.
const (
	SignalRunning    Signal = iota // in the middle of a run
	SignalHalt                     // at a HLT
	SignalSyscall                  // at an SVC that no handler serves
	SignalCheckpoint               // has done as many instructions as were asked for
	SignalBreak                    // at a breakpoint
	SignalFault                    // at an instruction that cannot be done: see Fault
	SignalWatch                    // behind a store into memory that is watched

	signals = iota
)

func (s Signal) String() string {
	names := [...]string{"running", "halt", "syscall", "checkpoint", "break", "fault", "watch"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("signal %d", uint32(s))
}

// MarshalText is String, for JSON.
func (s Signal) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Fault is why an instruction cannot be done, as the kernel numbers it.
type Fault uint32

// The faults.
const (
	FaultNone      Fault = iota
	FaultUndefined       // no instruction of the subset
	FaultPC              // the program counter is outside the code
	FaultAddress         // the address is outside the memory
	FaultAlignment       // the address is no multiple of 8
	FaultCode            // a store into the code
)

func (f Fault) String() string {
	names := [...]string{"none", "undefined instruction", "pc outside the code", "address outside the memory",
		"address not aligned to 8 bytes", "store into the code"}
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("fault %d", uint32(f))
}

// MarshalText is String, for JSON.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
