//go:build unix

package osfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// OthersCanChange reports whether another user than this one and root can change a file, or
// what is in a directory.
func OthersCanChange(info fs.FileInfo) bool {
	uid, known := Owner(info)
	return known && uid != 0 && uid != os.Geteuid() || WritableByOthers(info)
}

// Replaceable returns how another user can put a file or directory of theirs in the place of
// one, through its parents, and "" where none can. A parent may belong to this user, to root,
// or to a user outside the user namespace; others may write to it only where they cannot
// rename what is not theirs, as in /tmp. Write permission of a group is the owner's choice.
// path is absolute; the parents that symbolic links lead to are checked too. remedy is the
// command that helps, or "".
func Replaceable(path string) (reason, remedy string) {
	parents := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(parents[0]); err == nil && real != parents[0] {
		parents = append(parents, real)
	}
	for _, parent := range parents {
		for below := ""; below != parent; parent, below = filepath.Dir(parent), parent {
			if reason, remedy := replaceableIn(parent); reason != "" {
				return reason, remedy
			}
		}
	}
	return "", ""
}

func replaceableIn(parent string) (reason, remedy string) {
	info, err := os.Stat(parent)
	if err != nil {
		return "", "" // what cannot be read is reported where it is used
	}
	if uid, known := Owner(info); known && uid != os.Geteuid() && uid != 0 && uid != unmappedUser() {
		return fmt.Sprintf("can be replaced by user %d, to whom %s belongs", uid, parent), ""
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Sprintf("can be replaced by all users, who can write to %s", parent), "chmod o-w " + parent
	}
	return "", ""
}

// unmappedUser returns the owner that files of users outside the user namespace seem to
// have, and -1 where none is outside.
var unmappedUser = sync.OnceValue(func() int {
	if users, _ := os.ReadFile("/proc/self/uid_map"); slices.Equal(strings.Fields(string(users)), []string{"0", "0", "4294967295"}) {
		return -1
	}
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if uid, parseErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && parseErr == nil {
		return uid
	}
	return 65534
})
