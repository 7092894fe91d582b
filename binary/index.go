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

// load decodes everything, or without whole all but the programs. A new index is empty.
func (c *contents) load(x *index.File, whole bool) error {
	c.programs = map[shader.Key]Entry{}
	if !whole {
		return x.Load(c.decode, nil)
	}
	return x.Load(c.decode, func(key shader.Key, value []byte) error {
		e := Entry{Key: key}
		err := json.Unmarshal(value, &e)
		c.programs[key] = e
		return err
	})
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

// save writes the counters and the programs that changed, and deletes those that are gone,
// in one transaction.
func (c *contents) save(x *index.File, changed map[shader.Key]Entry, gone []shader.Key) error {
	counters, err1 := json.Marshal(c.lifetime)
	merged, err2 := json.Marshal(c.merged)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return x.Save(index.Changes{
		Lifetime: counters,
		Merged:   merged,
		Changed:  slices.SortedFunc(maps.Keys(changed), compareKeys),
		Value:    func(key shader.Key) ([]byte, error) { return json.Marshal(changed[key]) },
		Gone:     gone,
	})
}

// findEntry returns what an index holds of a program, which has the key alone where it holds
// nothing, and false then.
func findEntry(x *index.File, key shader.Key) (e Entry, ok bool) {
	x.Find(key, func(value []byte) { ok = json.Unmarshal(value, &e) == nil })
	if !ok {
		e = Entry{}
	}
	e.Key = key
	return e, ok
}

// statistics is what a store holds about its programs: the index, and what is pending.
type statistics struct {
	known   *index.File
	pending map[shader.Key][]Use
}

// statisticsOf reads the statistics, which the caller closes, with an index or a copy of it.
func (s *Store) statisticsOf(known *index.File) *statistics {
	var c contents
	_ = known.Load(c.decode, nil)
	_, pending := s.readPending(c.merged)
	st := &statistics{known, map[shader.Key][]Use{}}
	for _, r := range pending {
		for _, u := range r.Uses {
			st.pending[u.Key] = append(st.pending[u.Key], u)
		}
	}
	return st
}

func (st *statistics) Close() { st.known.Close() }

// find returns the entry of a program, which is empty but for the key where nothing is
// known.
func (st *statistics) find(key shader.Key) Entry {
	e, _ := findEntry(st.known, key)
	for _, u := range st.pending[key] {
		e.apply(u)
	}
	return e
}
