package shader

import "errors"

// Errors of a device. They live here because both sides of the seam, cache and
// glctx, need them and neither imports the other.
var (
	// ErrRejected is returned when a driver refuses a program binary: it was
	// made by another driver build, for other context flags, or is broken.
	ErrRejected = errors.New("driver refused the program binary")
	// ErrOutOfMemory is returned when a GL call raises GL_OUT_OF_MEMORY.
	ErrOutOfMemory = errors.New("driver is out of memory")
	// ErrContextLost is returned by every call after the context was lost:
	// the GPU was reset or removed. The context has to be opened again.
	ErrContextLost = errors.New("GL context lost")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("GL context closed")
)
