//go:build unix

package binary

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// anonymousFile makes a temporary file that has lost its name already, so that it
// goes with the process, whatever ends that.
func anonymousFile(pattern string) (*os.File, error) {
	f, err := os.CreateTemp("", pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// reopened is another handle of an anonymous file.
func reopened(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// forgetFile ends an anonymous file.
func forgetFile(f *os.File) { _ = f.Close() }
