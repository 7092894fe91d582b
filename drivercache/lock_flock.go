//go:build unix && !aix && !solaris

package drivercache

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock locks f until it is closed, and returns ErrInUse instead of waiting.
func lock(f *os.File, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return ErrInUse
		}
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// holdAcrossExec clears the flag that closes f at exec, which Go sets on every file.
func holdAcrossExec(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0)
	return err
}
