package binary

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// What is deleted together, and in which order:
//
//	a program       its blob, and the entries of the driver's cache that no other program
//	                uses; by the program's last use
//	another entry   by the time of its file; but while there are programs whose entries
//	                are not known, not before as large a part of these programs
//
// The exception keeps a prune from deleting the machine code of programs that it keeps:
// those of a bundle, for example, have old files and were used just now. Records of a
// slot have no time of their own and always age with the programs.

// pruneItem is deleted as one. There may be 100,000 of them, so a path is made when it is
// needed.
type pruneItem struct {
	lastUse int64 // nanoseconds since 1970; MaxAge counts from it
	used    int64 // orders the items; later than lastUse while programs' entries are not known
	bytes   int64
	files   int
	store   *Store // of a program
	key     shader.Key
	entries string              // of a program: Entry.DriverEntries
	driver  []*drivercache.Item // of a program: set by release
}

// compareUse orders items by their last use, the oldest first. Machine code that belongs
// to no program is before a program of the same time.
func (it *pruneItem) compareUse(other *pruneItem) int {
	if byUse := cmp.Compare(it.used, other.used); byUse != 0 {
		return byUse
	}
	switch {
	case it.store == nil && other.store != nil:
		return -1
	case it.store != nil && other.store == nil:
		return 1
	}
	return bytes.Compare(it.key[:], other.key[:])
}

// pruneItems is everything that may be deleted.
type pruneItems struct {
	list  []pruneItem // the least recently used first
	bytes int64
	files int
	err   error // of indexes that cannot be read now: last uses and entries may be wrong

	owned  map[string][]*drivercache.Item // items of entries that programs use, by name
	claims map[string]int                 // programs that use an entry
}

// pruneItems lists what may be deleted: programs of the stores and items of the driver.
func (d *Dir) pruneItems(stores []*Store) *pruneItems {
	items := &pruneItems{owned: map[string][]*drivercache.Item{}, claims: map[string]int{}}
	var unknown, known []int64 // last uses of programs, by whether their entries are known
	for _, s := range stores {
		err := s.pruneItems(func(it pruneItem) {
			for name := range strings.FieldsSeq(it.entries) {
				items.claims[name]++
			}
			if it.entries == "" {
				unknown = append(unknown, it.lastUse)
			} else {
				known = append(known, it.lastUse)
			}
			items.add(it)
		})
		items.err = cmp.Or(items.err, err)
	}
	items.addDriver(drivercache.Items(d.DriverDir()), unknown, known)
	slices.SortStableFunc(items.list, func(a, b pruneItem) int { return a.compareUse(&b) })
	return items
}

func (items *pruneItems) add(it pruneItem) {
	items.list = append(items.list, it)
	items.bytes += it.bytes
	items.files += it.files
}

// addDriver adds the items of the driver's cache.
func (items *pruneItems) addDriver(list []drivercache.Item, unknown, known []int64) {
	var files, records []pruneItem
	for i := range list {
		part := &list[i]
		if items.claims[part.Entry] > 0 && part.Entry != "" {
			items.owned[part.Entry] = append(items.owned[part.Entry], part)
			items.bytes += part.Bytes
			items.files += len(part.Paths)
			continue
		}
		at := part.LastUse.UnixNano()
		it := pruneItem{lastUse: at, used: at, bytes: part.Bytes, files: len(part.Paths), driver: []*drivercache.Item{part}}
		if part.Paths == nil {
			records = append(records, it)
		} else {
			files = append(files, it)
		}
	}
	slices.SortFunc(files, func(a, b pruneItem) int {
		return cmp.Or(cmp.Compare(a.lastUse, b.lastUse), strings.Compare(a.driver[0].Paths[0], b.driver[0].Paths[0]))
	})
	spread(files, unknown)
	if len(unknown) == 0 {
		unknown = known
	}
	if len(unknown) > 0 {
		for i := range records {
			records[i].used = math.MinInt64
		}
	}
	spread(records, unknown)
	for _, it := range slices.Concat(files, records) {
		items.add(it)
	}
}

// spread moves the last use of items, the oldest first, forward to that of the program at
// the same part of the programs.
func spread(items []pruneItem, programs []int64) {
	slices.Sort(programs)
	for i := range items {
		if len(programs) > 0 {
			items[i].used = max(items[i].used, programs[i*len(programs)/len(items)])
		}
	}
}

// pruneWait is how long a prune, and what sums up counters, waits for the index of a store, which
// it needs: a merge takes three syncs, on a busy volume a second.
const pruneWait = 5 * time.Second

// pruneItems calls add with the programs of one store. It reads the index itself: a copy needs
// room, which a prune may be for. The error is that of an index that is there and that cannot
// be read now. One that is damaged counts as missing: what it had is lost.
func (s *Store) pruneItems(add func(pruneItem)) error {
	x, wrong := index.Open(s.path, true, pruneWait)
	if errors.Is(wrong, fs.ErrNotExist) || errors.Is(wrong, ErrDamaged) {
		wrong = nil
	}
	known := s.statisticsOf(x)
	defer known.Close()
	for key, file := range s.blobFiles() {
		info, err := file.Info()
		if err != nil {
			continue
		}
		e := known.find(key)
		e.usedBy(info.ModTime())
		used := e.LastUse.UnixNano()
		add(pruneItem{lastUse: used, used: used, bytes: info.Size(), files: 1, store: s, key: key, entries: e.DriverEntries})
	}
	return wrong
}

// selectItems yields the items that exceed MaxAge, and those that have to be deleted to
// stay below MaxBytes and MaxFiles, the least recently used first. It uses up the list.
func (p *pruning) selectItems(items *pruneItems) iter.Seq[pruneItem] {
	return func(yield func(pruneItem) bool) {
		kept := items.list[:0]
		for _, it := range items.list {
			if p.MaxAge <= 0 || p.Now.Sub(time.Unix(0, it.lastUse)) <= p.MaxAge {
				kept = append(kept, it)
			} else if !yield(items.release(it)) {
				return
			}
		}
		for _, it := range kept {
			if (p.MaxBytes <= 0 || items.bytes <= p.MaxBytes) && (p.MaxFiles <= 0 || items.files <= p.MaxFiles) ||
				!yield(items.release(it)) {
				return
			}
		}
	}
}

// release takes an item from the sums. It adds to a program the entries that no other
// program uses.
func (items *pruneItems) release(it pruneItem) pruneItem {
	items.bytes -= it.bytes
	items.files -= it.files
	for name := range strings.FieldsSeq(it.entries) {
		if items.claims[name]--; items.claims[name] > 0 {
			continue
		}
		for _, part := range items.owned[name] {
			it.driver = append(it.driver, part)
			items.bytes -= part.Bytes
			items.files -= len(part.Paths)
		}
		delete(items.owned, name)
	}
	return it
}
