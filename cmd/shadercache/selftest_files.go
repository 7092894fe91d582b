package main

import (
	"fmt"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/internal/osfile"
)

// driverFiles returns the files below dir that hold machine code, each with what tells whether
// it was written. Of one that holds one program the time shows that it was deleted and made
// again; files of many are written when they are read, too, so that their size counts.
func driverFiles(dir string) map[string]string {
	files := map[string]string{}
	for path, info := range osfile.Files(dir) {
		if mesa.InUse(filepath.Base(path)) {
			continue
		}
		files[path] = fmt.Sprint(info.Size())
		if filepath.Ext(path) == "" {
			files[path] += fmt.Sprint(" of ", info.ModTime())
		}
	}
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
