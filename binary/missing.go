package binary

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// MissingProgram is a program whose source is stored and that has no blob of this driver.
type MissingProgram struct {
	Key     shader.Key `json:"key"`
	Name    string     `json:"name"`
	Hits    uint64     `json:"hits"`     // of all drivers
	LastUse time.Time  `json:"last_use"` // with any driver; zero where no driver has the program
}

// Missing lists the programs that have to be compiled after a driver update or for
// another GPU: those whose source is stored and that have no blob here or upstream, the
// most used first. It leaves out programs in quarantine and those with a recorded compile
// error. Source reads the source of each.
func (s *Store) Missing() ([]MissingProgram, error) {
	missing := map[shader.Key]*MissingProgram{}
	for _, dir := range s.dir.levels() {
		for key := range dir.sourceKeys() {
			if s.lacks(key) {
				missing[key] = &MissingProgram{Key: key}
			}
		}
	}
	if len(missing) == 0 {
		return []MissingProgram{}, nil
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
	list := make([]MissingProgram, 0, len(missing))
	for _, m := range missing {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b MissingProgram) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), b.LastUse.Compare(a.LastUse), compareKeys(a.Key, b.Key))
	})
	return list, nil
}

// addUses adds this store's statistics of programs that are missing in another store.
func (s *Store) addUses(missing map[shader.Key]*MissingProgram) {
	for e := range s.All() {
		m := missing[e.Key]
		if m == nil {
			continue
		}
		m.Hits += e.Hits
		if m.Name == "" || e.LastUse.After(m.LastUse) {
			m.Name, m.LastUse = e.Name, e.LastUse
		}
	}
}

// lacks reports whether a program has no blob, no recorded compile error and no
// quarantine. A suspect has none.
func (s *Store) lacks(key shader.Key) bool {
	paths := []string{s.blobPath(key), s.failurePath(key)}
	for level := s.upstream; level != nil; level = level.upstream {
		paths = append(paths, level.blobPath(key))
	}
	for _, path := range paths {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	q, found := s.Note(key)
	return !found || q.Suspect
}
