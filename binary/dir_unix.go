//go:build unix

package binary

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses a directory of another user, and one that others can
// write to. One that is only read may be root's.
func checkOwner(path string, info fs.FileInfo, readOnly bool) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) != os.Geteuid() && (!readOnly || stat.Uid != 0) {
		return unsafeDir(path, fmt.Sprintf("belongs to user %d, and we are user %d", stat.Uid, os.Geteuid()),
			"choose another directory with "+dirEnvironment)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return unsafeDir(path, fmt.Sprintf("can be written by others (mode %04o)", mode), "chmod 700 it")
	}
	return nil
}
