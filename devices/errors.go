package devices

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Errors of a group, besides those of package shadercache. They are returned wrapped.
var (
	// ErrNoMember is returned when every member is lost, or could not be opened. The error
	// has the reason of each.
	ErrNoMember = errors.New("no device of the group can be used")
	// ErrOtherMember is returned for a job whose buffers and textures are on different
	// members, and for one of a split buffer as a whole. It matches job.ErrInvalid too.
	ErrOtherMember = fmt.Errorf("%w: its objects are on different devices", job.ErrInvalid)
)

// DeviceError is an error of one member. It matches what the member returned:
// job.ErrLost, shader.ErrOutOfMemory and others.
type DeviceError struct {
	Rank int    // of the member
	Name string // of the GPU; "" where it was not opened
	Err  error
}

func (e *DeviceError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("device %d: %v", e.Rank, e.Err)
	}
	return fmt.Sprintf("device %d (%s): %v", e.Rank, e.Name, e.Err)
}

func (e *DeviceError) Unwrap() error { return e.Err }

// isLost reports whether a device cannot be used any more.
func isLost(err error) bool { return errors.Is(err, job.ErrLost) }

// isOfDevice reports whether a job may succeed on another device.
func isOfDevice(err error) bool { return isLost(err) || errors.Is(err, shader.ErrOutOfMemory) }
