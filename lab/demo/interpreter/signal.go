package interpreter

import "fmt"

// Signal is the reason why a machine stopped, with the kernel's numbers.
type Signal uint32

// The signals. The next run resumes a machine
//
//	after SignalSyscall                   after the SVC, which its handler serves first
//	after SignalBreak                     with the instruction at the breakpoint
//	after SignalCheckpoint, SignalWatch   with the next instruction
//	after SignalHalt, SignalFault         only when SetPC was called
const (
	SignalRunning    Signal = iota // in the middle of a run
	SignalHalt                     // at a HLT
	SignalSyscall                  // at an SVC without a handler
	SignalCheckpoint               // after the number of instructions of the run
	SignalBreak                    // at a breakpoint
	SignalFault                    // at an instruction that cannot be executed: see Fault
	SignalWatch                    // after a store into watched memory

	signals = iota
)

// String returns the name of the signal in lower case.
func (s Signal) String() string {
	names := [...]string{"running", "halt", "syscall", "checkpoint", "break", "fault", "watch"}
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("signal %d", uint32(s))
}

// MarshalText returns String, for JSON.
func (s Signal) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Fault is the reason why an instruction cannot be executed, with the kernel's numbers.
type Fault uint32

// The faults.
const (
	FaultNone      Fault = iota
	FaultUndefined       // not an instruction of the subset
	FaultPC              // the program counter is outside the code
	FaultAddress         // the address is outside the memory
	FaultAlignment       // the address is not a multiple of 8
	FaultCode            // a store into the code
)

// String returns a description of the fault.
func (f Fault) String() string {
	names := [...]string{"none", "undefined instruction", "pc outside the code", "address outside the memory",
		"address not aligned to 8 bytes", "store into the code"}
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("fault %d", uint32(f))
}

// MarshalText returns String, for JSON.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
