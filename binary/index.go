package binary

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

// contents is the content of an index, decoded.
type contents struct {
	programs map[shader.Key]Entry
	lifetime Counters
	merged   []string // names of the files of pending/ that the last merge added
}

// loadContents decodes everything, or without whole all but the programs. A new index is
// empty.
func loadContents(x *index.File, whole bool) (*contents, error) {
	c := &contents{programs: map[shader.Key]Entry{}}
	if !whole {
		return c, indexError(x.LoadLifetime(c.decode))
	}
	return c, indexError(x.Load(c.decode, func(key shader.Key, value []byte) error {
		e := Entry{Key: key}
		err := json.Unmarshal(value, &e)
		c.programs[key] = e
		return err
	}))
}

// decode decodes what an index holds beside the programs.
func (c *contents) decode(lifetime, merged []byte) error {
	if len(merged) > 0 {
		if err := json.Unmarshal(merged, &c.merged); err != nil {
			return err
		}
	}
	return json.Unmarshal(lifetime, &c.lifetime)
}

// loadLifetime reads the counters, without those that are pending, and what was merged.
func (s *Store) loadLifetime() (Counters, []string, error) {
	x, err := index.Open(s.path, true)
	if err != nil {
		return Counters{}, nil, indexError(err)
	}
	defer x.Close()
	c, err := loadContents(x, false)
	if err != nil {
		return Counters{}, nil, err
	}
	return c.lifetime, c.merged, nil
}

// saveIndex writes the counters and the programs that changed, and deletes those that
// are gone, in one transaction.
func saveIndex(x *index.File, c *contents, changed map[shader.Key]Entry, gone []shader.Key) error {
	counters, err1 := json.Marshal(c.lifetime)
	merged, err2 := json.Marshal(c.merged)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return indexError(x.Save(index.Changes{
		Lifetime: counters,
		Merged:   merged,
		Changed:  slices.SortedFunc(maps.Keys(changed), compareKeys),
		Value:    func(key shader.Key) ([]byte, error) { return json.Marshal(changed[key]) },
		Gone:     gone,
	}))
}

// findEntry returns what a copy of the index holds of a program.
func findEntry(known *index.Copy, key shader.Key) Entry {
	var e Entry
	known.Find(key, func(value []byte) {
		if json.Unmarshal(value, &e) != nil {
			e = Entry{}
		}
	})
	e.Key = key
	return e
}

// findEntryIn returns what an open index holds of a program, and false if it has none.
func findEntryIn(x *index.File, key shader.Key) (e Entry, ok bool) {
	x.Find(key, func(value []byte) { ok = json.Unmarshal(value, &e) == nil })
	e.Key = key
	return e, ok
}

// statistics is what a store holds about its programs: a copy of the index, and what is
// pending. A nil *index.Copy is empty.
type statistics struct {
	known   *index.Copy
	pending map[shader.Key][]Use
}

// openStatistics reads the statistics; the caller closes them.
func (s *Store) openStatistics() *statistics {
	known := index.OpenCopy(s.path)
	var c contents
	_ = known.LoadTotals(c.decode)
	return &statistics{known, pendingUses(s.readPending(s.pendingNames(), c.merged))}
}

func (st *statistics) Close() { st.known.Close() }

// find returns the entry of a program, which is empty but for the key where nothing is
// known.
func (st *statistics) find(key shader.Key) Entry {
	e := findEntry(st.known, key)
	for _, u := range st.pending[key] {
		e.apply(u)
	}
	return e
}

// indexError converts an error of package index to one of this package.
func indexError(err error) error {
	if bad, ok := errors.AsType[*index.DamagedError](err); ok {
		return &DamagedError{Path: bad.Path, Reason: bad.Reason}
	}
	return err
}
