package interpreter

import (
	"errors"
	"fmt"
)

// Errors of loading and running. Those of a device, shader.ErrContextLost and
// shader.ErrOutOfMemory, pass through.
var (
	// ErrNoCode is returned by the run functions before Load.
	ErrNoCode = errors.New("interpreter: no code is loaded: call Load first")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("interpreter: it is closed")
	// ErrStuck is returned when a batch did not get a machine on by a single
	// instruction though nothing stopped it: the driver cut its loop.
	ErrStuck = errors.New("interpreter: the driver ends the kernel's loop before the first instruction")
)

// SyntaxError is a line that the assembler does not understand.
type SyntaxError struct {
	Name string
	Line int
	Why  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Why) }
