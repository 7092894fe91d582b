package main

import (
	"io/fs"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache/mesa"
)

// driverSnapshot holds the files of a driver's own cache, by path.
type driverSnapshot map[string]fs.FileInfo

// driverFiles returns the files below dir that hold machine code.
func driverFiles(dir string) driverSnapshot {
	files := driverSnapshot{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || mesa.InUse(e.Name()) {
			return nil
		}
		if info, err := e.Info(); err == nil {
			files[path] = info
		}
		return nil
	})
	return files
}

// written returns the number of files that are new or have other content in later. Of
// files that hold one program each, the time shows that one was deleted and made again;
// files of many are written when they are read, too, so that their size counts.
func (s driverSnapshot) written(later driverSnapshot) (n int) {
	for path, file := range later {
		before, found := s[path]
		switch {
		case !found, before.Size() != file.Size():
			n++
		case filepath.Ext(path) == "" && !before.ModTime().Equal(file.ModTime()):
			n++
		}
	}
	return n
}
