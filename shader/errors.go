package shader

import "errors"

// Errors of a device and of a Check. They are declared here because cache and glctx use
// them and do not import each other.
var (
	// ErrRejected is returned when a driver rejects a program binary: it was
	// made by another driver build, for other context flags, or is damaged.
	ErrRejected = errors.New("driver refused the program binary")
	// ErrOutOfMemory is returned when a GL call raises GL_OUT_OF_MEMORY.
	ErrOutOfMemory = errors.New("driver is out of memory")
	// ErrContextLost is returned by every call after the context was lost, because
	// the GPU was reset or removed. The caller has to open a new context.
	ErrContextLost = errors.New("GL context lost")
	// ErrClosed is returned, maybe wrapped, by every call after Close: of a context, a cache, an
	// executor, a device, a session.
	ErrClosed = errors.New("closed already")
	// ErrCheckLater is returned by a Check that needs other programs too.
	ErrCheckLater = errors.New("the program is to be checked later")
)
