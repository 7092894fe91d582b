package binary

import (
	"cmp"
	"maps"
	"os"
	"slices"

	"github.com/shadercache/shadercache/shader"
)

// Missing lists the programs that have to be compiled after a driver update or for
// another GPU: those whose source is stored and that have no blob here or upstream, the
// most used first. It leaves out programs in quarantine and those with a recorded compile
// error. An entry has the key, and of the drivers that have the program the hits and the
// latest name and use. Source reads the source of each.
func (s *Store) Missing() ([]Entry, error) {
	missing := map[shader.Key]Entry{}
	for _, dir := range s.dir.levels() {
		for key := range sources.files(dir.path) {
			if s.lacks(key) {
				missing[key] = Entry{Key: key}
			}
		}
	}
	if len(missing) == 0 {
		return []Entry{}, nil
	}
	for _, dir := range s.dir.levels() {
		stores, err := dir.stores()
		if err != nil {
			return nil, err
		}
		for _, other := range stores {
			other.addUses(missing)
		}
	}
	return slices.SortedFunc(maps.Values(missing), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), b.LastUse.Compare(a.LastUse), compareKeys(a.Key, b.Key))
	}), nil
}

// addUses adds this store's statistics of programs that are missing in another store.
func (s *Store) addUses(missing map[shader.Key]Entry) {
	for e := range s.All() {
		m, ok := missing[e.Key]
		if !ok {
			continue
		}
		m.Hits += e.Hits
		if m.Name == "" || e.LastUse.After(m.LastUse) {
			m.Name, m.LastUse = e.Name, e.LastUse
		}
		missing[e.Key] = m
	}
}

// lacks reports whether a program has no blob, no recorded compile error and no
// quarantine. A suspect has none.
func (s *Store) lacks(key shader.Key) bool {
	if _, err := os.Lstat(failures.path(s.path, key)); err == nil || s.Has(key) {
		return false
	}
	q, found := s.Note(key)
	return !found || q.Suspect
}
