//go:build unix

package osfile

import (
	"io/fs"
	"syscall"
)

// Owner returns the user id of a file's owner, and false where it is not known.
func Owner(info fs.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// WritableByOthers reports whether the group of a file, or every user, may write to it.
func WritableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }
