package drivercache

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// Item is the smallest part of the drivers' caches that is pruned:
//
//	Mesa     a file, which holds one entry; or mesa_cache.db with mesa_cache.idx
//	NVIDIA   a record of a slot, which [Drop] deletes; or the two files of a slot whose
//	         format is unknown, while no process uses the directory
//
// Files of one folder that differ only in their extension are one item.
type Item struct {
	Entry   string    // name of the entry: see Work.Entries; "" = the files hold others too
	Paths   []string  // files to delete; nil for a record
	Bytes   int64     // on disk: holes do not count
	LastUse time.Time // latest time at which a file of it, or the slot, was written or read
}

// Bytes returns the bytes of Items on disk, which are those that a limit counts.
func Bytes(dir string) (total int64) {
	for _, it := range Items(dir) {
		total += it.Bytes
	}
	return total
}

// Items returns the items below dir that may be pruned. It omits files that running
// processes map or update. Records are in the order in which they were made, and come
// after the files, which have no order.
func Items(dir string) []Item {
	records, skipped := nvidia.Records(dir)
	list := files(dir, keptSlots(dir, len(skipped) > 0))
	for _, r := range records {
		list = append(list, Item{Entry: r.Entry, Bytes: r.Bytes, LastUse: r.LastUse})
	}
	return list
}

// keptSlots returns the slots of which [Drop] and a merge delete what is to be deleted, as paths
// without extension: a process may write to any. Where some were skipped, it leaves out those
// that a merge skips, unless a process uses the directory.
func keptSlots(dir string, skipped bool) map[string]bool {
	slots := map[string]bool{}
	for _, file := range nvidia.SlotFiles(dir) {
		slots[strings.TrimSuffix(file, filepath.Ext(file))] = true
	}
	if !skipped {
		return slots
	}
	if lock, err := TryExclusive(dir); err == nil {
		defer lock.Release()              // it only closes a file
		_, unknown := nvidia.Records(dir) // again: nobody writes now
		for _, s := range unknown {
			delete(slots, filepath.Join(dir, filepath.FromSlash(s.Slot)))
		}
	}
	return slots
}

// files returns the items that are files, without those of slots: see keptSlots.
func files(dir string, slots map[string]bool) []Item {
	items := map[string]Item{}
	for path, info := range osfile.Files(dir) {
		stem := strings.TrimSuffix(path, filepath.Ext(path))
		if mesa.InUse(filepath.Base(path)) || slots[stem] {
			continue
		}
		it := items[stem]
		it.Paths = append(it.Paths, path)
		it.Bytes += osfile.DiskBytes(info)
		if used := osfile.LastUse(info); used.After(it.LastUse) {
			it.LastUse = used
		}
		if below, err := filepath.Rel(dir, path); err == nil {
			it.Entry = mesa.Entry(filepath.ToSlash(below))
		}
		items[stem] = it
	}
	return slices.Collect(maps.Values(items))
}
