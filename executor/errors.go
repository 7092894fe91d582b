package executor

import "errors"

// Errors of the executor. Those of a device, shader.ErrContextLost,
// shader.ErrClosed and shader.ErrOutOfMemory, pass through.
var (
	// ErrClosed is returned by Submit after Close, and by Wait for a job that
	// nobody had waited for when the executor was closed.
	ErrClosed = errors.New("executor is closed")
	// ErrFull is returned by Submit when Options.FailWhenFull is set and no slot
	// has room.
	ErrFull = errors.New("executor is full: wait for pending jobs or release them")
	// ErrTimeout is returned when the GPU completed nothing for Options.Timeout.
	// The GPU may still be at it: its memory is not used for anything else
	// before it has finished.
	ErrTimeout = errors.New("executor: the GPU completed nothing for too long: the kernel may run for ever, or the GPU may be busy elsewhere")
	// ErrNotSubmitted is returned by Wait for a Pending that no Submit has
	// returned.
	ErrNotSubmitted = errors.New("executor: the job was never submitted: did Submit return an error?")
	// ErrReleased is returned by Wait after Release.
	ErrReleased = errors.New("executor: the job was released before it was waited for")
)
