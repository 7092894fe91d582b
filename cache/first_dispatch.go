package cache

import (
	"errors"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// watchFirstDispatch marks a program while the device runs it for the first time, on the
// device's thread: see Device.WatchFirstDispatch. Loading and compiling have succeeded by
// then, and the driver may still have work to do for the program.
func (c *Cache) watchFirstDispatch(program uint32) (done func()) {
	c.mu.Lock()
	e := c.mu.resident.findProgram(program)
	c.mu.Unlock()
	if e == nil {
		return nil // of another cache on the device
	}
	marks := c.guard.marks()
	marks.Mark(binary.ActionDispatch, e.key, e.name)
	began := time.Now()
	return func() {
		c.addFirstResult(program, began)
		marks.Unmark(binary.ActionDispatch, e.key)
		c.guard.clearUndispatched(e.key)
	}
}

// mustNotRun returns a *binary.QuarantinedError if the driver crashes when it runs a
// program, stored or not, else nil.
func (g *CrashGuard) mustNotRun(src *shader.Source) error {
	err := g.quarantined(src.Key(), src.Name())
	if q, ok := errors.AsType[*binary.QuarantinedError](err); ok && q.Action == binary.ActionDispatch {
		return err
	}
	return nil
}

// clearUndispatched ends the suspicion against a program whose first job is done.
func (g *CrashGuard) clearUndispatched(key shader.Key) {
	g.mu.Lock()
	suspect := g.mu.undispatched[key]
	delete(g.mu.undispatched, key)
	g.mu.Unlock()
	if suspect {
		g.lift(key)
	}
}
