package drivercache

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/internal/osfile"
)

// Item is a set of files that a driver uses together and that are pruned together: the
// files of one folder that differ only in their extension, as in
//
//	NVIDIA   <app><n>.bin and <app><n>.toc: data and its table of contents
//	Mesa     one file, named by its hash; or mesa_cache.db with mesa_cache.idx
type Item struct {
	Paths   []string
	Bytes   int64     // on disk: holes do not count
	LastUse time.Time // latest time at which a file of it was written or read
}

// Bytes returns the bytes of Items on disk, which are those that a limit counts.
func Bytes(dir string) (total int64) {
	for _, it := range Items(dir) {
		total += it.Bytes
	}
	return total
}

// Items returns the items below dir that may be pruned, in no order. It omits files
// that running processes map or update.
func Items(dir string) []Item {
	items := map[string]Item{}
	walk(dir, func(path string, info fs.FileInfo) {
		if mesa.InUse(filepath.Base(path)) {
			return
		}
		stem := strings.TrimSuffix(path, filepath.Ext(path))
		it := items[stem]
		it.Paths = append(it.Paths, path)
		it.Bytes += osfile.DiskBytes(info)
		for _, t := range []time.Time{info.ModTime(), osfile.AccessTime(info)} {
			if t.After(it.LastUse) {
				it.LastUse = t
			}
		}
		items[stem] = it
	})
	list := make([]Item, 0, len(items))
	for _, it := range items {
		list = append(list, it)
	}
	return list
}

// walk visits the regular files below dir. It does not follow links, and skips files
// that are deleted meanwhile or cannot be read.
func walk(dir string, visit func(path string, info fs.FileInfo)) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			visit(path, info)
		}
		return nil
	})
}
