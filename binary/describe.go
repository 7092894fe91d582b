package binary

import (
	"iter"

	"github.com/shadercache/shadercache/shader"
)

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
func (s *Store) Describe(key shader.Key) (Entry, error) {
	h, fileBytes, err := s.readHeader(key)
	if err != nil {
		return Entry{}, err
	}
	var e Entry
	e.describe(h, fileBytes)
	return e, nil
}
