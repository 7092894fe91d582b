package cache

import (
	"crypto/sha256"
	"math"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Trial is a cache over the same device for programs that are tried out and thrown
// away, as a tuner does: it keeps nothing on disk, takes no room from c's programs, and
// counts for itself. A source that takes the process down is held against it as one of
// c's is, and what c refuses for that reason it refuses too. Close it before c.
func (c *Cache) Trial() (*Cache, error) {
	trial, err := New(c.dev, Options{
		MemoryOnly:       true,
		MaxPrograms:      math.MaxInt32,
		MaxBytes:         math.MaxInt64,
		KeepEvictedBytes: -1,
		Logger:           c.log,
		Now:              c.options.Now,
	})
	if err == nil {
		trial.guard.marks = c.guard.marks
	}
	return trial, err
}

// Try calls work, which has the driver do something that may take the process down,
// such as running a program for the first time. After the second time that it did, or
// the first where the crash could be told (Options.RecordCrashes), Try returns a
// *binary.QuarantinedError for that name and does not call work, in every process on
// the directory with this driver. Without a store nothing is remembered.
//
// Otherwise it returns what work returns; what is suspected stays so after an error.
// work may use the device's thread, but must not call the cache.
func (c *Cache) Try(name string, work func() error) error {
	c.recover()
	g := &c.guard
	key := shader.Key(sha256.Sum256([]byte("try\x00" + name)))
	if q, ok := g.refused[key]; ok {
		return &binary.QuarantinedError{Quarantined: q}
	}
	if g.marks == nil {
		return work()
	}
	suspect := g.isSuspect(key)
	err := c.run(key, name, suspect, work)
	if suspect && err == nil {
		c.absolve(key)
	}
	return err
}

// run calls work under a mark: a suspect alone, so that there is one culprit if the
// process dies.
func (c *Cache) run(key shader.Key, name string, suspect bool, work func() error) error {
	g := &c.guard
	if suspect {
		c.serve(g.alone.Lock)
		defer g.alone.Unlock()
	} else {
		c.serve(g.alone.RLock)
		defer g.alone.RUnlock()
	}
	g.marks.Mark(binary.ActionRun, key, name)
	defer g.marks.Unmark(binary.ActionRun, key)
	return work()
}
