package binary

import (
	"encoding/json"
	"io"
	"iter"
	"os"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
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
	copied *os.File
	tx     *bolt.Tx
	finds  int // since db was opened
}

// findsAMapping is after how many finds the copy is mapped anew: bbolt maps the
// whole file, and pages that were touched count as this process's memory. Keys
// in order touch each page once.
const findsAMapping = 4096

// copyIndex copies the index, which takes a moment, where reading all of it in
// place would keep writers away, and reading it into memory would fill that.
func (s *Store) copyIndex() *indexCopy {
	x, err := openIndex(s.path, true)
	if err != nil {
		return nil
	}
	defer x.close()
	info, err := x.file.Stat()
	if err != nil {
		return nil
	}
	f, err := osfile.CreateUnnamed("shadercache-index-*")
	if err != nil {
		return nil
	}
	c := &indexCopy{index: index{path: f.Name()}, copied: f}
	if _, err = io.Copy(f, io.NewSectionReader(x.file, 0, info.Size())); err == nil {
		err = c.open()
	}
	if err != nil {
		_ = c.abandon(err)
		_ = osfile.CloseUnnamed(f)
		return nil
	}
	return c
}

// open maps the copy.
func (c *indexCopy) open() error {
	o := c.options(true)
	o.OpenFile = func(string, int, os.FileMode) (f *os.File, err error) {
		c.file, err = osfile.ReopenUnnamed(c.copied)
		return c.file, err
	}
	return c.guard(func() (err error) {
		if c.db, err = bolt.Open(c.path, 0o600, o); err == nil {
			c.tx, err = c.db.Begin(false)
		}
		return err
	})
}

// unmap is what open did, taken back.
func (c *indexCopy) unmap() {
	_ = c.tx.Rollback()
	_ = c.db.Close()
	c.tx, c.finds = nil, 0
}

// find is what the index knows of a program.
func (c *indexCopy) find(key shader.Key) Entry {
	e := Entry{Key: key}
	if c == nil || c.broken {
		return e
	}
	if c.finds++; c.finds > findsAMapping {
		c.unmap()
		if c.broken = c.open() != nil; c.broken {
			return e
		}
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
	if c.tx != nil {
		c.unmap()
	}
	_ = osfile.CloseUnnamed(c.copied)
}
