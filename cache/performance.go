package cache

import (
	"math"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
)

// addDispatch keeps the faster of two dispatches: the one with more operations a second, else the
// shorter one. One whose operations are known counts more than one, such as that of a check,
// of which they are not. The caller holds Cache.mu.
func (e *entry) addDispatch(gpuNanos int64, operations float64) {
	m, gflops := &e.measured, operations/float64(gpuNanos)
	faster := m.GPUNanos == 0 || gpuNanos < m.GPUNanos
	if gflops > 0 || m.GFLOPS > 0 {
		faster = gflops > m.GFLOPS
	}
	if faster {
		m.GPUNanos, m.GFLOPS = gpuNanos, gflops
	}
}

// addTime is called on the device's thread: see Device.WatchTimes. Numbers of operations
// that cannot be count as unknown.
func (c *Cache) addTime(program uint32, gpu time.Duration, operations float64) {
	if gpu <= 0 {
		return
	}
	if !(operations > 0) || math.IsInf(operations, 0) {
		operations = 0
	}
	c.changePerformance(program, func(e *entry) { e.addDispatch(gpu.Nanoseconds(), operations) })
}

// addFirstResult records that the first dispatch of a program, which began when it was
// given to the driver, has finished.
func (c *Cache) addFirstResult(program uint32, began time.Time) {
	took := time.Since(began)
	c.changePerformance(program, func(e *entry) {
		made := e.measured.LoadNanos
		if e.origin == job.Compiled {
			made = e.measured.CompileNanos
		}
		e.measured.FirstResultNanos = made + took.Nanoseconds()
	})
}

// changePerformance changes a resident program, so that its next collection has the change.
func (c *Cache) changePerformance(program uint32, change func(*entry)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.mu.resident.findProgram(program); e != nil {
		change(e)
		e.countedUse = -1
	}
}

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
	end, began := c.markDispatch(e), time.Now()
	return func() {
		c.addFirstResult(program, began)
		end(true)
	}
}

// markDispatch marks a program until end is called, which says whether the device ran it.
func (c *Cache) markDispatch(e *entry) (end func(ran bool)) {
	marks := c.guard.owner.store
	marks.Mark(binary.ActionDispatch, e.key, e.name)
	return func(ran bool) {
		marks.Unmark(binary.ActionDispatch, e.key)
		if ran {
			c.guard.clear(e.key, note.isUndispatched)
		}
	}
}
