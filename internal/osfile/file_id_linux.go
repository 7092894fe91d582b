package osfile

import (
	"fmt"
	"io/fs"
	"syscall"
)

// FileID returns the number of a file on its volume and the time of its last change, which
// no program can set: of what it holds, and of its owner, mode and names. It returns ""
// where the system does not report them.
func FileID(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(stat.Ino, " ", stat.Ctim.Nano())
}
