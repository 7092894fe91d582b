package main

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache/mesa"
)

// driverFiles returns the files below dir that hold machine code, each with what tells whether
// it was written. Of one that holds one program the time shows that it was deleted and made
// again; files of many are written when they are read, too, so that their size counts.
func driverFiles(dir string) map[string]string {
	files := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || mesa.InUse(e.Name()) {
			return nil
		}
		if info, err := e.Info(); err == nil {
			files[path] = fmt.Sprint(info.Size())
			if filepath.Ext(path) == "" {
				files[path] += fmt.Sprint(" of ", info.ModTime())
			}
		}
		return nil
	})
	return files
}

// written returns the number of files that are new or have other content than before.
func written(before, later map[string]string) (n int) {
	for path, content := range later {
		if before[path] != content {
			n++
		}
	}
	return n
}
