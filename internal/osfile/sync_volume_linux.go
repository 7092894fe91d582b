package osfile

import (
	"errors"
	"os"
	"time"

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

// Uptime returns the time since the system started.
func Uptime() time.Duration {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)
	return time.Duration(info.Uptime) * time.Second
}
