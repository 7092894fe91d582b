package executor

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Errors of the executor. Those of a device, shader.ErrContextLost,
// shader.ErrClosed and shader.ErrOutOfMemory, pass through.
var (
	// ErrTimeout is returned when the GPU completed nothing for Options.Timeout.
	// The job may still run: its memory is not reused before it has finished.
	ErrTimeout = errors.New("executor: the GPU completed nothing before the timeout: the kernel may not end, or other programs may use the GPU")
	// ErrNotSubmitted is returned by Wait for a Pending that holds no job.
	ErrNotSubmitted = errors.New("executor: the job was never submitted: did Submit return an error?")
)

// errClosed is returned by Submit after Close, and by Wait for a job that was not waited for
// before Close. errReleased is returned by Wait after Release.
var (
	errClosed   = fmt.Errorf("executor: %w", shader.ErrClosed)
	errReleased = fmt.Errorf("executor: the job was %w before it was waited for", job.ErrReleased)
)
