package isolate

import "errors"

// ErrMemoryOnly is reported by a child whose cache has no
// directory: nothing that it compiles would outlive it.
var ErrMemoryOnly = errors.New("isolate: programs cannot be stored")

// ProgramError is the error of a program that a child reported: its text.
type ProgramError struct{ Message string }

func (e *ProgramError) Error() string { return e.Message }

// LostError is the error of a program with which two children were lost.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }

func (e *LostError) Unwrap() error { return e.Err }

// StartError is returned by Pool.Run when a child reports that it cannot start.
type StartError struct {
	Message string
	Hint    string // what the user can do, from Child.Hint; may be ""
}

func (e *StartError) Error() string { return e.Message }
