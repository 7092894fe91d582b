package osfile

import (
	"io/fs"
	"syscall"
	"time"
)

// AccessTime returns when a file was last read, as far as the file system keeps
// track: with the usual relatime it is right to a day.
func AccessTime(info fs.FileInfo) time.Time {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(stat.Atim.Unix())
}
