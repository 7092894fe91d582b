package osfile

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// HasByteLocks reports whether TryLockByte locks on this system.
const HasByteLocks = true

// TryLockByte locks one byte of f, which need not exist, until UnlockByte, until f is
// closed, or the process ends, however it ends. It does not wait: it returns ErrLocked
// while the byte is locked through another open file, of this process or of another one.
// Through f itself a byte can be locked again. Where HasByteLocks is false it does nothing
// and returns nil.
func TryLockByte(f *os.File, offset int64) error {
	err := setByteLock(f, offset, unix.F_WRLCK)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return ErrLocked
	}
	return err
}

// UnlockByte releases the lock on one byte.
func UnlockByte(f *os.File, offset int64) { _ = setByteLock(f, offset, unix.F_UNLCK) }

// setByteLock uses a lock of the open file and not of the process: such a lock excludes
// other users in this process too, and stays when another file of the same name is closed.
func setByteLock(f *os.File, offset int64, kind int16) error {
	lock := unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: offset, Len: 1}
	return ignoringInterrupts(func() error { return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock) })
}
