package osfile

import (
	"io/fs"
	"syscall"
	"time"
)

// AccessTime returns when a file was last read, as far as the file system records it:
// with the usual mount option relatime it is accurate to a day.
func AccessTime(info fs.FileInfo) time.Time {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(stat.Atim.Unix())
}
