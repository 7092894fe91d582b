package binary

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const (
	asideName = "aside"
	reasonExt = ".txt"
	// asideKept bounds what a store sets aside: enough to look into a fault,
	// little enough to forget about.
	asideKept = 16
)

// Reject moves the blob of key to aside/, because the driver refused it, and
// writes the reason beside it. Where it cannot be moved it is removed. Without
// a blob there is nothing to do.
func (s *Store) Reject(key shader.Key, reason string) error {
	err := s.moveAside(s.blobPath(key), reason)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("binary: set %s aside: %w", key.Short(), err)
	}
	return nil
}

// setAsideFile sets the blob of key aside, unless another process has put a
// new file in its place since we read the bad one. Failing is not an error
// worth more than the damage that is being reported: the next reader tries
// again.
func (s *Store) setAsideFile(key shader.Key, bad fs.FileInfo, reason string) {
	path := s.blobPath(key)
	if now, err := os.Lstat(path); err == nil && os.SameFile(now, bad) {
		_ = s.moveAside(path, reason)
	}
}

// moveAside moves a file of the store to aside/, or removes it where it cannot
// be moved. It returns fs.ErrNotExist, wrapped, where there is no file.
func (s *Store) moveAside(path, reason string) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	if s.dir.readOnly {
		return ErrReadOnly
	}
	aside := filepath.Join(s.path, asideName)
	target := filepath.Join(aside, filepath.Base(path))
	err := os.Mkdir(aside, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) && !osfile.IsLink(aside) {
		err = os.Rename(path, target)
	}
	if err != nil {
		return os.RemoveAll(path)
	}
	note := s.dir.now().UTC().Format(time.RFC3339) + " " + strings.TrimSpace(reason) + "\n"
	// The file is out of the way, which is what matters; a note is a courtesy.
	_ = osfile.WriteFile(target+reasonExt, []byte(note))
	s.trimAside(asideKept, time.Time{}, false)
	return nil
}

// trimAside removes what was set aside before a time, and all but the latest.
// A file has the age of the note beside it, else its own. It returns the
// number of files set aside that it removed or, in a dry run, would remove.
func (s *Store) trimAside(keep int, before time.Time, dryRun bool) (removed int) {
	type item struct {
		path string
		at   time.Time
	}
	var items []item
	aside := filepath.Join(s.path, asideName)
	for _, e := range osfile.List(aside) {
		path := filepath.Join(aside, e.Name())
		if strings.HasSuffix(e.Name(), reasonExt) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Lstat(path + reasonExt)
		if err != nil {
			info, err = os.Lstat(path)
		}
		if err == nil {
			items = append(items, item{path, info.ModTime()})
		}
	}
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path))
	})
	for i, it := range items {
		if i < keep && !it.at.Before(before) {
			continue
		}
		if dryRun {
			removed++
		} else if os.RemoveAll(it.path) == nil {
			_ = os.Remove(it.path + reasonExt)
			removed++
		}
	}
	return removed
}
