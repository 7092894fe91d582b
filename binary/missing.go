package binary

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// MissingProgram is a program whose source is kept and that this driver has not
// compiled.
type MissingProgram struct {
	Key     Key       `json:"key"`
	Name    string    `json:"name"`
	Hits    uint64    `json:"hits"`     // for all drivers together
	LastUse time.Time `json:"last_use"` // with any driver; zero where no driver has it any more
}

// Missing lists what a driver update, or another GPU, leaves to be compiled: the
// programs whose source is kept and that have no blob here, the most used
// first. Dir.Source reads the source of each. Programs in quarantine, and those
// known to fail, are left out.
func (s *Store) Missing() ([]MissingProgram, error) {
	missing := map[Key]*MissingProgram{}
	for key := range s.dir.sourceKeys() {
		if s.lacks(key) {
			missing[key] = &MissingProgram{Key: key}
		}
	}
	stores, err := s.dir.stores()
	if err != nil {
		return nil, err
	}
	for _, other := range stores {
		for e := range other.All() {
			if m := missing[e.Key]; m != nil {
				m.Hits += e.Hits
				if m.Name == "" || e.LastUse.After(m.LastUse) {
					m.Name, m.LastUse = e.Name, e.LastUse
				}
			}
		}
	}
	list := make([]MissingProgram, 0, len(missing))
	for _, m := range missing {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b MissingProgram) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), b.LastUse.Compare(a.LastUse), slices.Compare(a.Key[:], b.Key[:]))
	})
	return list, nil
}

// lacks reports whether a program could be here and is not.
func (s *Store) lacks(key Key) bool {
	for _, path := range []string{s.blobPath(key), s.failurePath(key)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	q, err := s.readQuarantine(key)
	return err != nil || !q.stands(s.dir.now())
}
