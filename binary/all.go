package binary

import (
	"encoding/json"
	"io"
	"iter"
	"os"

	bolt "go.etcd.io/bbolt"
)

// All describes every program in the store, in the order of their keys, with
// one of them in memory at a time, however many there are. It opens every blob
// for its header; one that cannot be read comes with its key and an error. What
// the index knows is as of the start; it keeps nobody from the index meanwhile.
// Without an index, which may be busy or gone, there are no hits and load
// times, and the last use is the file's time.
func (s *Store) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		known := s.copyIndex()
		defer known.close()
		for key, file := range s.blobFiles() {
			h, fileBytes, err := s.readHeader(key)
			if err != nil {
				if !yield(Entry{Key: key}, err) {
					return
				}
				continue
			}
			e := known.find(key)
			e.describe(h, fileBytes)
			e.usedBy(fileTime(file))
			if !yield(e, nil) {
				return
			}
		}
	}
}

// indexCopy is a private copy of an index, to be read at leisure. nil knows
// nothing.
type indexCopy struct {
	index
	tx *bolt.Tx
}

// copyIndex copies the index, which takes a moment, where reading all of it in
// place would keep writers away, and reading it into memory would fill that.
func (s *Store) copyIndex() *indexCopy {
	x, err := openIndex(s.path, true)
	if err != nil {
		return nil
	}
	defer x.close()
	f, err := os.CreateTemp("", "shadercache-index-*")
	if err != nil {
		return nil
	}
	info, err := x.file.Stat()
	if err == nil {
		_, err = io.Copy(f, io.NewSectionReader(x.file, 0, info.Size()))
	}
	_ = f.Close()
	c := &indexCopy{index: index{path: f.Name()}}
	if err == nil {
		err = c.guard(func() (err error) {
			if c.db, err = bolt.Open(c.path, 0o600, c.options(true)); err == nil {
				c.tx, err = c.db.Begin(false)
			}
			return err
		})
	}
	if err != nil {
		_ = c.abandon(err)
		_ = os.Remove(c.path)
		return nil
	}
	return c
}

// find is what the index knows of a program.
func (c *indexCopy) find(key Key) Entry {
	e := Entry{Key: key}
	if c == nil {
		return e
	}
	_ = c.guard(func() error {
		if programs := c.tx.Bucket(programsBucket); programs != nil {
			if value := programs.Get(key[:]); value != nil && json.Unmarshal(value, &e) != nil {
				e = Entry{}
			}
		}
		return nil
	})
	e.Key = key
	return e
}

func (c *indexCopy) close() {
	if c == nil {
		return
	}
	_ = c.tx.Rollback()
	_ = c.db.Close()
	_ = os.Remove(c.path)
}
