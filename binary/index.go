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
}

// readIndex returns the content of the index, and nothing where it cannot be read now.
func (s *Store) readIndex() *contents {
	if c, err := s.loadIndex(); err == nil {
		return c
	}
	return &contents{}
}

func (s *Store) loadIndex() (*contents, error) {
	x, err := index.Open(s.path, true)
	if err != nil {
		return nil, indexError(err)
	}
	defer x.Close()
	return loadContents(x)
}

// loadContents decodes everything. A new index is empty.
func loadContents(x *index.File) (*contents, error) {
	c := &contents{programs: map[shader.Key]Entry{}}
	err := x.Load(c.lifetime.decode, func(key shader.Key, value []byte) error {
		e := Entry{Key: key}
		err := json.Unmarshal(value, &e)
		c.programs[key] = e
		return err
	})
	if err != nil {
		return nil, indexError(err)
	}
	return c, nil
}

// loadLifetime reads the counters, at the same cost however many programs there are.
func (s *Store) loadLifetime() (c Counters, err error) {
	x, err := index.Open(s.path, true)
	if err != nil {
		return c, indexError(err)
	}
	defer x.Close()
	if err := x.LoadLifetime(c.decode); err != nil {
		return Counters{}, indexError(err)
	}
	return c, nil
}

// saveIndex writes the counters and the programs that changed, and deletes those that
// are gone, in one transaction.
func saveIndex(x *index.File, lifetime Counters, changed map[shader.Key]Entry, gone []shader.Key) error {
	counters, err := json.Marshal(lifetime)
	if err != nil {
		return err
	}
	return indexError(x.Save(index.Changes{
		Lifetime: counters,
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

func (c *Counters) decode(data []byte) error { return json.Unmarshal(data, c) }

// indexError converts an error of package index to one of this package.
func indexError(err error) error {
	if bad, ok := errors.AsType[*index.DamagedError](err); ok {
		return &DamagedError{Path: bad.Path, Reason: bad.Reason}
	}
	return err
}
