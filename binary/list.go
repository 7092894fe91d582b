package binary

import (
	"cmp"
	"iter"
	"slices"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

// All yields every program in the store, in the order of their keys. It has one of them
// in memory at a time. It opens every blob for its header, and yields a blob that cannot
// be read with its key and an error. Statistics are those of a copy of the index at the
// start; the index is free meanwhile. Without an index, which may be busy or missing,
// hits and load times are 0 and the last use is the file's time.
func (s *Store) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		known := s.statisticsOf(index.OpenCopy(s.path))
		defer known.Close()
		for key, file := range s.blobFiles() {
			e := known.find(key)
			if err := s.describeEntry(&e, key); err != nil {
				if !yield(Entry{Key: key}, err) {
					return
				}
				continue
			}
			e.usedBy(fileTime(file))
			if !yield(e, nil) {
				return
			}
		}
	}
}

// ByName yields the programs of All that can be read, sorted by name, then key, without the
// entries of the driver's cache. It has all of them in memory at once: some 250 bytes each.
func (s *Store) ByName() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var all []*Entry // a list of entries would be copied as it grows
		for e, err := range s.All() {
			if err == nil {
				e.DriverEntries = ""
				all = append(all, &e)
			}
		}
		slices.SortFunc(all, func(a, b *Entry) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), compareKeys(a.Key, b.Key))
		})
		for _, e := range all {
			if !yield(*e) {
				return
			}
		}
	}
}

// Keys yields the programs in the store, in the order of their keys, without opening them.
func (s *Store) Keys() iter.Seq[shader.Key] {
	return func(yield func(shader.Key) bool) {
		for key := range s.blobFiles() {
			if !yield(key) {
				return
			}
		}
	}
}

// Describe returns what the file of a program says of it, without statistics. It returns
// ErrNotFound, or an error that matches ErrDamaged.
func (s *Store) Describe(key shader.Key) (e Entry, err error) {
	err = s.describeEntry(&e, key)
	return e, err
}
