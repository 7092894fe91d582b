package binary

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/internal/osfile"
)

// checkParents refuses a directory whose parents let another user put one of theirs in
// its place.
func checkParents(path string) error {
	reason, remedy := osfile.Replaceable(path)
	if reason == "" {
		return nil
	}
	return unsafeDir(path, reason, cmp.Or(remedy, "choose another directory with "+dirEnvironment))
}

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
