package osfile

import (
	"io/fs"
	"syscall"
	"time"
)

// accessTime returns when a file was last read.
func accessTime(info fs.FileInfo) time.Time {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(stat.Atim.Unix())
}
