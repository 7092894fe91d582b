package drivercache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// A driver may crash because of what is in its own cache, and blame for that would fall
// on the program. So the cache is set aside before a program is refused:
//
//	<dir>.aside/     the folders of all drivers, as they were; its time is that of the move
//	<dir>.suspect    the next Manage of a process without a driver sets them aside
//
// One generation is kept, for asideTime.
const (
	asideExt   = ".aside"
	suspectExt = ".suspect"

	asideTime = 48 * time.Hour
)

// rename is os.Rename, but in tests.
var rename = os.Rename

// SetAside moves the content of a driver's directory away, so that drivers which are
// loaded from now on start with an empty cache. It replaces what was set aside before. A
// driver that is loaded already may continue with the files that it has open. What cannot be
// moved, as a folder of a container's image, is deleted.
func SetAside(dir string) error {
	dir = filepath.Clean(dir)
	aside := dir + asideExt
	err := errors.Join(os.RemoveAll(aside), os.MkdirAll(aside, 0o700))
	if err != nil {
		return fmt.Errorf("drivercache: set aside: %w", err)
	}
	for _, folder := range osfile.List(dir) {
		if !folder.IsDir() {
			continue
		}
		from, to := filepath.Join(dir, folder.Name()), filepath.Join(aside, folder.Name())
		subs := osfile.List(from)
		if rename(from, to) != nil {
			for _, e := range subs { // from may be a volume, which stays
				err = errors.Join(err, os.RemoveAll(filepath.Join(from, e.Name())))
			}
		}
		err = errors.Join(err, os.MkdirAll(from, 0o700))
		// Drivers that are loaded make only the last folder of a path again, those of a process
		// that starts just now perhaps all.
		for _, sub := range subs {
			if sub.IsDir() {
				err = errors.Join(err, os.MkdirAll(filepath.Join(from, sub.Name()), 0o700))
			}
		}
	}
	if err = errors.Join(err, os.Chtimes(aside, time.Now(), time.Now())); err != nil {
		_ = os.RemoveAll(aside) // else AsideSince would say that it was done
		return fmt.Errorf("drivercache: set aside: %w", err)
	}
	return nil
}

// RequestSetAside makes the next [Manage] of dir that finds no driver loaded set the
// drivers' caches aside.
func RequestSetAside(dir string) error {
	if err := os.WriteFile(filepath.Clean(dir)+suspectExt, nil, 0o600); err != nil {
		return fmt.Errorf("drivercache: request to set aside: %w", err)
	}
	return nil
}

// AsideSince returns when the drivers' caches in dir were last set aside, and zero for
// never or long ago.
func AsideSince(dir string) time.Time {
	info, err := os.Lstat(filepath.Clean(dir) + asideExt)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// setAsideIfRequested does what RequestSetAside left to do, and deletes what was set aside
// long ago. Of processes that start together one does it.
func setAsideIfRequested(dir string) {
	if os.Remove(dir+suspectExt) == nil {
		_ = SetAside(dir) // else the driver uses its cache, and the program is refused later
		return
	}
	if since := AsideSince(dir); !since.IsZero() && time.Since(since) > asideTime {
		_ = os.RemoveAll(dir + asideExt)
	}
}
