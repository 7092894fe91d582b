package cache

import (
	"time"

	"github.com/shadercache/shadercache/binary"
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
