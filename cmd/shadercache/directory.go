package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/binary"
)

// directory is where the cache is according to the flags, made absolute. It
// does not look at it.
func (o *options) directory() (string, error) {
	path := o.dir
	if path == "" {
		var err error
		if path, err = binary.DefaultDir(); err != nil {
			return "", err
		}
	}
	return filepath.Abs(path)
}

// openDirectory opens the cache directory for commands that only look at it or
// trim it: one that is missing is not made, dir is nil then.
func (o *options) openDirectory() (path string, dir *binary.Dir, err error) {
	if path, err = o.directory(); err != nil {
		return "", nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	dir, err = binary.OpenDir(path)
	return path, dir, err
}

// treeBytes adds up the sizes of the files below path, 0 where there is none.
// Files that other processes delete meanwhile do not count.
func treeBytes(path string) (total int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
