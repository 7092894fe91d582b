package osfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Allocate allocates the first bytes of f on its volume, so that writing them later, also
// through a mapping, does not fail for lack of space. What the file holds does not change.
// It returns an error that matches ErrNoSpace where the volume or the user's quota is
// full. Where a file system cannot allocate, it returns nil if there is that much space
// now.
func Allocate(f *os.File, bytes int64) error {
	err := ignoringInterrupts(func() error { return unix.Fallocate(int(f.Fd()), 0, 0, bytes) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		var volume unix.Statfs_t
		if err := unix.Fstatfs(int(f.Fd()), &volume); err != nil || int64(volume.Bavail)*volume.Bsize >= bytes {
			return nil
		}
		err = unix.ENOSPC
	}
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("allocate %d bytes of %s: %w (%w)", bytes, f.Name(), ErrNoSpace, err)
	case err != nil:
		return fmt.Errorf("allocate %d bytes of %s: %w", bytes, f.Name(), err)
	}
	return nil
}

func ignoringInterrupts(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
