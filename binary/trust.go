package binary

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/osfile"
)

// What a directory holds is code that the driver runs, so that nobody but this user may
// decide what that is. Who could is checked where a directory is opened or made: of the
// directory and its parents, of the folders in it, and of those of the drivers and of a
// store. Of a blob it is checked again when it is read, and of a link when something is
// written, since both may have been made after that.

// subfolders are those of the cache directory itself, into which nothing is written through a
// link.
var subfolders = []string{driverName, sourcesName, "remote"}

// checkTrust returns an error that matches ErrUnsafeDir where another user can change what is
// in the directory, or put another one in its place. Folders in it may be missing. Folders of
// drivers are those that a driver of this process uses, so not those of a directory that is
// only read.
func (d *Dir) checkTrust() error {
	info, err := os.Lstat(d.path)
	if err == nil {
		err = d.checkSafe(d.path, info)
	}
	if err != nil {
		return err
	}
	if reason, remedy := osfile.Replaceable(d.path); reason != "" {
		return unsafeDir(d.path, reason, cmp.Or(remedy, "choose another directory with "+dirEnvironment))
	}
	if err := d.checkBelow(d.path, subfolders...); err != nil || d.readOnly {
		return err
	}
	for _, driver := range drivercache.Folders() {
		if err := d.checkBelow(d.DriverDir(), driver); err != nil {
			return err
		}
		folder := filepath.Join(d.DriverDir(), driver)
		entries, _ := os.ReadDir(folder)
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

// checkBelow calls checkSafe for the directories in path that exist.
func (d *Dir) checkBelow(path string, names ...string) error {
	for _, name := range names {
		below := filepath.Join(path, name)
		info, err := os.Lstat(below)
		switch {
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			err = unsafeDir(below, "is a symbolic link", "remove the link")
		case err == nil:
			err = d.checkSafe(below, info)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// checkSafe returns an error that matches ErrUnsafeDir unless info, which is that of the
// link if path is one, describes a directory that only this user can change. One that is
// only read may belong to root.
func (d *Dir) checkSafe(path string, info fs.FileInfo) error {
	uid, known := osfile.Owner(info)
	switch {
	case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		return unsafeDir(path, "is a symbolic link", "name the directory that it leads to")
	case !info.IsDir():
		return unsafeDir(path, "is not a directory", "move the file away, or choose another directory")
	case known && uid != os.Geteuid() && (!d.readOnly || uid != 0):
		return unsafeDir(path, fmt.Sprintf("belongs to user %d, and we are user %d", uid, os.Geteuid()),
			"choose another directory with "+dirEnvironment)
	case osfile.WritableByOthers(info):
		return unsafeDir(path, fmt.Sprintf("can be written by others (mode %04o)", info.Mode().Perm()), "chmod 700 it")
	}
	return nil
}

func unsafeDir(path, reason, hint string) error {
	return fmt.Errorf("%w: %s %s; %s", ErrUnsafeDir, path, reason, hint)
}
