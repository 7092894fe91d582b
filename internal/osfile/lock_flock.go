//go:build unix && !aix && !solaris

package osfile

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// HasLocks reports whether TryLock locks files on this system.
const HasLocks = true

// TryLock locks f, shared or exclusive, until f is closed or the process ends, however
// it ends and in whatever container. It does not wait: it returns ErrLocked while the
// file is locked through another open file, of this process or of another one. Where
// HasLocks is false it does nothing and returns nil.
func TryLock(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return ErrLocked
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Unlock releases the lock on f. Closing f is not enough while a mapping of the file
// exists: the mapping keeps the open file, and its lock, alive.
func Unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// KeepAcrossExec keeps f open, and its lock held, in a program that takes this
// process's place by exec. Go closes every file at exec otherwise. It returns
// errors.ErrUnsupported where the system cannot do that.
func KeepAcrossExec(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0)
	return err
}
