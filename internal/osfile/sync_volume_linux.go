package osfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncVolume has all that was written to a directory's file system reach the disk. For
// many files that takes less than to sync each.
func SyncVolume(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(os.NewSyscallError("syncfs", unix.Syncfs(int(d.Fd()))), d.Close())
}
