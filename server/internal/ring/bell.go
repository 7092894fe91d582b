//go:build linux

package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Bell is an eventfd, which the client of a ring makes and rings, and for which the server
// waits. Both have one open file: either may change its flags and its counter at any time. So
// the server leaves them alone, and has Go's poller, which reports each write, wait alone.
type Bell struct{ file *os.File }

// NewBell makes the eventfd.
func NewBell() (*Bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &Bell{os.NewFile(uintptr(fd), "eventfd")}, nil
}

// OpenBell returns the bell over a copy of a descriptor of a client. It fails where that is
// no eventfd.
func OpenBell(fd int) (*Bell, error) {
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || name != "anon_inode:[eventfd]" {
		return nil, errors.New("the second descriptor of a ring is not an eventfd")
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("copy the eventfd of a ring: %w", err)
	}
	_ = unix.SetNonblock(own, true) // has NewFile give it to the poller
	f := os.NewFile(uintptr(own), "eventfd")
	if err := f.SetReadDeadline(time.Time{}); err != nil { // the client has set it back
		f.Close()
		return nil, fmt.Errorf("the eventfd of a ring has to be non-blocking: %w", err)
	}
	return &Bell{f}, nil
}

// File returns the eventfd, which the bell closes.
func (b *Bell) File() *os.File { return b.file }

// await waits until done reports true, or interrupt is called. It asks done again after each
// write to the eventfd.
func (b *Bell) await(done func() bool) error {
	raw, err := b.file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(uintptr) bool { return done() })
}

// interrupt ends await, now and later.
func (b *Bell) interrupt() error { return b.file.SetReadDeadline(time.Unix(1, 0)) }

// Ring wakes the side that waits. A client calls it: the server does not change the flags.
func (b *Bell) Ring() error {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, err := b.file.Write(one[:])
	return err
}

// Close closes the eventfd. No other method may run.
func (b *Bell) Close() error { return b.file.Close() }
