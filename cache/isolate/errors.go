package isolate

import (
	"errors"

	"github.com/shadercache/shadercache/binary"
)

// ErrMemoryOnly is reported by a child whose cache has no
// directory: nothing that it compiles would outlive it.
var ErrMemoryOnly = errors.New("isolate: programs cannot be stored")

// ErrNoProcess is returned by Pool.Run, wrapped, when the system starts no process for
// the first child.
var ErrNoProcess = errors.New("isolate: a child process cannot be started")

// ErrNotStored is reported for a program that a child compiled and could not write to
// the cache directory, such as one on a full disk.
var ErrNotStored = errors.New("compiled, but not stored: the cache directory cannot be written")

// ProgramError is the error of a program that a child reported. It matches
// binary.ErrQuarantined or ErrNotStored where the child's error did.
type ProgramError struct {
	Message string
	Log     string // of the driver, for a source that does not compile; cut to 64 KiB

	kind error // may be nil
}

func (e *ProgramError) Error() string { return e.Message }

func (e *ProgramError) Unwrap() error { return e.kind }

// LostError is the error of a program that its child did not survive, or did not
// complete within the limits.
type LostError struct {
	Err error // what the pool saw

	// Signal is the signal that ended the child, such as "SIGSEGV: segmentation
	// fault", unless the pool sent it. "" = none is known.
	Signal string

	TimedOut   bool // the program took longer than Pool.Timeout
	OverMemory bool // the program took more than Pool.MaxMemoryBytes
}

func (e *LostError) Error() string { return e.Err.Error() }

func (e *LostError) Unwrap() error { return e.Err }

// Crashed reports whether a signal ended the child by which drivers end processes.
func (e *LostError) Crashed() bool { return binary.IsCrash(e.Signal) }

// StartError is returned by Pool.Run when a child reports that it cannot start.
type StartError struct {
	Message string
	Hint    string // what the user can do, from Child.Hint; may be ""
}

func (e *StartError) Error() string { return e.Message }
