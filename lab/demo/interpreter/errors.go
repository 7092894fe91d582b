package interpreter

import (
	"errors"
	"fmt"
)

// Errors of loading and running. Those of a device, shader.ErrContextLost and
// shader.ErrOutOfMemory, are wrapped.
var (
	// ErrNoCode is returned by the run functions before Load.
	ErrNoCode = errors.New("interpreter: no code is loaded: call Load first")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("interpreter: machines are closed")
	// ErrStuck is returned when batches execute no instruction of a machine that has
	// not stopped: the driver ends the loop of the kernel too early.
	ErrStuck = errors.New("interpreter: the driver ends the kernel's loop before the first instruction")
)

// SyntaxError is an invalid line of assembler text.
type SyntaxError struct {
	Name string
	Line int
	Why  string
}

// Error returns name, line and reason.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Why) }
