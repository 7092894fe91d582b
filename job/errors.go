package job

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/shader"
)

// Errors of a [Device], the same for one of this process and for a server. They are
// returned wrapped.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = shader.ErrClosed
	// ErrReleased is returned for a program, buffer or texture that was released, and by Wait after
	// Release.
	ErrReleased = errors.New("released")
	// ErrInvalid is returned for a job, a size or a range that does not fit its programs,
	// its buffers and textures, or the GPU.
	ErrInvalid = errors.New("invalid request")
	// ErrLost is returned when the GL context is lost, a kernel did not end, or the server
	// is gone. The device cannot be used any more: Connect again.
	ErrLost = errors.New("the device is lost")
	// ErrNotFound is returned when there is no buffer or plan of a name.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned when a buffer or plan of a name has another size or other layers.
	ErrExists = errors.New("exists already")
	// ErrConflict is returned when a buffer has another version than expected.
	ErrConflict = errors.New("the buffer has another version")
	// ErrQuota is returned when a limit of the server is reached.
	ErrQuota = errors.New("a limit of the server is reached")
	// ErrNoServer is returned where no server listens.
	ErrNoServer = errors.New("no shadercache server listens")
	// ErrOtherDevice is returned for a named buffer that is on another GPU of the server.
	ErrOtherDevice = errors.New("the buffer is on another device of the server")
)

// Foreign returns the ErrInvalid of a dispatch whose program, which may be nil, is not of the
// device that it was submitted to.
func Foreign(p Program) error {
	if p == nil {
		return fmt.Errorf("%w: a dispatch has no program: set Program to what Get of this device returned", ErrInvalid)
	}
	return fmt.Errorf("%w: program %s is of another device: Get it from the one that runs the job", ErrInvalid, p.Name())
}
