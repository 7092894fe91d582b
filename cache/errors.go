package cache

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// ErrApart is returned by New, wrapped, when the driver's own cache is managed in
// another directory than the programs: what is exported, pruned or deleted together
// would not be together. Other errors of the cache are [*InUseError], those of a device,
// [shader.ErrOutOfMemory] and [shader.ErrContextLost] among them, and *shader.CompileError.
var ErrApart = errors.New("the driver's own cache and the programs have two directories")

// errClosed is returned by every call after Close succeeded.
var errClosed = fmt.Errorf("cache: %w", shader.ErrClosed)

var errNothing = errors.New("a source and a context are needed, and one of them is nil")

var errUnwound = errors.New("another request started to load the program, and panicked")

// InUseError names the programs that Close found in use: their handles were not released.
type InUseError struct {
	Programs []InUseProgram // sorted by name
}

// InUseProgram is a program with handles that have not been released.
type InUseProgram struct {
	Name    string
	Key     shader.Key
	Handles int
}

func (e *InUseError) Error() string {
	parts := make([]string, len(e.Programs))
	for i, p := range e.Programs {
		parts[i] = fmt.Sprintf("%s %s (%d)", p.Name, p.Key.Short(), p.Handles)
	}
	return "cache: close: handles are not released: " + strings.Join(parts, ", ")
}

// WrongAnswerError is returned when programs gave a wrong answer to their check: by
// Cache.CheckTogether for programs that were loaded, and by it and Cache.Get for those that
// the driver computes wrong right after a compile too.
type WrongAnswerError struct {
	Keys []shader.Key // of the programs, any of which may be at fault
	Err  error        // of the check

	// Compiled reports that compiling them again would not change the answer.
	Compiled bool
}

func (e *WrongAnswerError) Error() string {
	if e.Compiled {
		return "the driver computes a program wrong, also right after a compile: " + e.Err.Error()
	}
	return "a program that was loaded gave a wrong answer: " + e.Err.Error()
}

func (e *WrongAnswerError) Unwrap() error { return e.Err }

// getError wraps an error about the source called name for the caller. A
// compile error names its source already.
func getError(name string, err error) error {
	if isCompileError(err) {
		return err
	}
	return fmt.Errorf("cache: get %s: %w", name, err)
}

// errorFor returns the error of a load, which an equal source may have started, for src.
func errorFor(src *shader.Source, err error) error {
	if failure, ok := errors.AsType[*shader.CompileError](err); ok {
		return failure.For(src)
	}
	return err
}

func isCompileError(err error) bool {
	var compileError *shader.CompileError
	return errors.As(err, &compileError)
}
