//go:build linux

package kernel

import "errors"

// Errors of a run, which end up as the reason for a verdict.
var (
	// ErrOverrun is returned when a kernel writes past the end of its output.
	ErrOverrun = errors.New("the kernel wrote past the end of its output")
	// ErrSemaphores is returned when a kernel leaves a tile semaphore that is not 0.
	ErrSemaphores = errors.New("the kernel left a count of its work groups that is not 0")
	// ErrHangs is returned when a kernel does not end.
	ErrHangs = errors.New("the GPU did not finish a candidate within a minute")
)
