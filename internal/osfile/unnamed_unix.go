//go:build unix

package osfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// CreateUnnamed creates a temporary file and removes its name at once, so that the
// system deletes the file when the process ends, however it ends. Where a system
// cannot do that, the file keeps its name until CloseUnnamed. The pattern is that of
// os.CreateTemp.
func CreateUnnamed(pattern string) (*os.File, error) {
	f, err := os.CreateTemp("", pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReopenUnnamed returns another handle of a file of CreateUnnamed.
func ReopenUnnamed(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// CloseUnnamed closes and deletes a file of CreateUnnamed.
func CloseUnnamed(f *os.File) error { return f.Close() }
