package index

import (
	"io"
	"os"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
	bolt "go.etcd.io/bbolt"
)

// Copy is a private copy of an index. A reader of the copy does not keep writers from
// the index. A nil *Copy is empty.
type Copy struct {
	File
	copied *os.File
	tx     *bolt.Tx
	finds  int // since db was opened
}

// remapAfter is the number of finds after which the copy is mapped again. bbolt maps the
// whole file, and pages that were read count as memory of this process. A reader that
// finds keys in order reads each page once.
const remapAfter = 4096

// OpenCopy copies the index in a store's directory to a temporary file without a name.
// It returns nil where there is no index, or where it is busy or damaged.
func OpenCopy(dir string) *Copy {
	x, err := Open(dir, true)
	if err != nil {
		return nil
	}
	defer x.Close()
	info, err := x.file.Stat()
	if err != nil {
		return nil
	}
	f, err := osfile.CreateUnnamed("shadercache-index-*")
	if err != nil {
		return nil
	}
	c := &Copy{File: File{path: f.Name()}, copied: f}
	if _, err = io.Copy(f, io.NewSectionReader(x.file, 0, info.Size())); err == nil {
		err = c.mapFile()
	}
	if err != nil {
		_ = c.abandon(err)
		_ = osfile.CloseUnnamed(f)
		return nil
	}
	return c
}

func (c *Copy) mapFile() error {
	err := c.open(true, func(string, int, os.FileMode) (*os.File, error) { return osfile.ReopenUnnamed(c.copied) })
	if err != nil {
		return err
	}
	return c.guard(func() (err error) {
		c.tx, err = c.db.Begin(false)
		return err
	})
}

func (c *Copy) unmapFile() {
	_ = c.tx.Rollback()
	_ = c.db.Close()
	c.tx, c.finds = nil, 0
}

// Find calls program with the value of a key, which is valid during the call. It calls
// nothing for a key that the index does not have.
func (c *Copy) Find(key shader.Key, program func(value []byte)) {
	if c == nil || c.broken {
		return
	}
	if c.finds++; c.finds > remapAfter {
		c.unmapFile()
		if c.broken = c.mapFile() != nil; c.broken {
			return
		}
	}
	_ = c.guard(func() error {
		if programs := c.tx.Bucket(programsBucket); programs != nil {
			if value := programs.Get(key[:]); value != nil {
				program(value)
			}
		}
		return nil
	})
}

// LoadTotals is File.Load without programs, for a copy.
func (c *Copy) LoadTotals(totals func(lifetime, merged []byte) error) error {
	if c == nil || c.broken {
		return nil
	}
	return c.guard(func() error { return load(c.tx, totals, nil) })
}

// Close deletes the copy.
func (c *Copy) Close() {
	if c == nil {
		return
	}
	if c.tx != nil {
		c.unmapFile()
	}
	_ = osfile.CloseUnnamed(c.copied)
}
