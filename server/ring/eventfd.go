//go:build linux

package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// NewEventFD makes an eventfd.
func NewEventFD() (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return os.NewFile(uintptr(fd), "eventfd"), nil
}

// IsEventFD reports whether a file is an eventfd, to which a write does not wait.
func IsEventFD(f *os.File) bool {
	is := false
	_ = control(f, func(fd int) error {
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		is = err == nil && name == "anon_inode:[eventfd]"
		return nil
	})
	return is
}

// ring wakes the side that waits for an eventfd. It does not wait: where the counter is at
// its limit, that side is awake.
func ring(bell *os.File) error {
	return control(bell, func(fd int) error {
		var one [8]byte
		binary.NativeEndian.PutUint64(one[:], 1)
		if _, err := unix.Write(fd, one[:]); err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return err
		}
		return nil
	})
}

// control calls fn with the descriptor of f, which stays in the mode that it has.
func control(f *os.File, fn func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = fn(int(fd)) })
	return errors.Join(err, failed)
}
