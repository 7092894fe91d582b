package binary

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What drivers keep below driver/, as far as pruning has to know:
//
//	NVIDIA   <app><n>.bin and <app><n>.toc: data and its table of contents
//	Mesa     one file an item, named by its hash; or mesa_cache.db with mesa_cache.idx
//	Mesa     index, marker: mapped and touched by running processes, kept
//
// So files of one directory that differ only in their extension are one item,
// and live and die together.
var keptDriverFiles = []string{"index", "marker"}

// driverItem is what the driver needs together.
type driverItem struct {
	paths   []string
	bytes   int64
	lastUse time.Time // latest time at which a file of it was written or read
}

// DriverBytes is the size of everything the driver keeps for itself, in bytes.
func (d *Dir) DriverBytes() int64 {
	var total int64
	d.walkDriver(func(_ string, info fs.FileInfo) { total += info.Size() })
	return total
}

// driverItems lists what may be pruned from driver/, in no order.
func (d *Dir) driverItems() []driverItem {
	items := map[string]driverItem{}
	d.walkDriver(func(path string, info fs.FileInfo) {
		if slices.Contains(keptDriverFiles, filepath.Base(path)) {
			return
		}
		stem := strings.TrimSuffix(path, filepath.Ext(path))
		it := items[stem]
		it.paths = append(it.paths, path)
		it.bytes += info.Size()
		for _, t := range []time.Time{info.ModTime(), accessTime(info)} {
			if t.After(it.lastUse) {
				it.lastUse = t
			}
		}
		items[stem] = it
	})
	list := make([]driverItem, 0, len(items))
	for _, it := range items {
		list = append(list, it)
	}
	return list
}

// walkDriver visits the regular files below driver/. Links are not followed,
// and what disappears or cannot be read meanwhile is passed over.
func (d *Dir) walkDriver(visit func(path string, info fs.FileInfo)) {
	_ = filepath.WalkDir(d.DriverDir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			visit(path, info)
		}
		return nil
	})
}
