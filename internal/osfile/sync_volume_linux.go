package osfile

import (
	"errors"
	"math"
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

// Uptime returns the time since the system started, or more than any where it is not known.
func Uptime() time.Duration {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return math.MaxInt64
	}
	return time.Duration(info.Uptime) * time.Second
}
