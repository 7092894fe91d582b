package binary

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/internal/osfile"
)

// checkParents refuses a directory whose parents let another user put one of theirs in
// its place. A parent may belong to this user, to root, or to a user outside the user
// namespace; others may write to it only where they cannot rename what is not theirs, as
// in /tmp. Write permission of a group is the owner's choice. path is absolute; the
// parents that symbolic links lead to are checked too.
func checkParents(path string) error {
	parents := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(parents[0]); err == nil && real != parents[0] {
		parents = append(parents, real)
	}
	for _, parent := range parents {
		for {
			if err := checkParent(path, parent); err != nil {
				return err
			}
			above := filepath.Dir(parent)
			if above == parent {
				break
			}
			parent = above
		}
	}
	return nil
}

func checkParent(path, parent string) error {
	info, err := os.Stat(parent)
	if err != nil {
		return nil // what cannot be read is reported where it is used
	}
	uid, ok := osfile.Owner(info)
	if !ok {
		return nil
	}
	if uid != os.Geteuid() && uid != 0 && uid != unmappedUser() {
		return unsafeDir(path, fmt.Sprintf("can be replaced by user %d, to whom %s belongs", uid, parent),
			"choose another directory with "+dirEnvironment)
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return unsafeDir(path, fmt.Sprintf("can be replaced by all users, who can write to %s", parent), "chmod o-w "+parent)
	}
	return nil
}

// unmappedUser returns the owner that files of users outside the user namespace seem to
// have.
var unmappedUser = sync.OnceValue(func() int {
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if uid, parseErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && parseErr == nil {
		return uid
	}
	return 65534
})

// checkDriverFolders checks the folders of the drivers and those directly in them: a
// user who owns one decides what the driver runs.
func (d *Dir) checkDriverFolders() error {
	for _, driver := range []string{"nvidia", "mesa"} {
		if err := d.checkBelow(d.DriverDir(), driver); err != nil {
			return err
		}
		folder := filepath.Join(d.DriverDir(), driver)
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
				continue
			}
			if err := d.checkBelow(folder, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
