package cache

import (
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/trace"
)

// awaitStored waits until the store has finished every task, and done, unless nil, returns
// true. Tasks that are added meanwhile are written too. The caller holds mu.
func (c *Cache) awaitStored(done func() bool) {
	for c.mu.unstored > 0 || done != nil && !done() {
		c.mu.idle.Wait()
	}
}

// writeBlob keeps blob in memory, if its program may be evicted or was, and
// queues it for the store. It is counted in unstored already.
func (c *Cache) writeBlob(e *entry, blob *binary.Blob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.evicted.accepts(blob) && !e.storeOnly {
		if !e.evicted {
			e.blob = blob
		} else if c.mu.resident.find(e.key) == nil {
			c.mu.evicted.add(blob)
		}
	}
	if c.options.NoSave {
		e.claim.end()
		c.finishTask()
		return
	}
	c.enqueue(task{what: "writing", done: &c.mu.counters.total.Stored, do: func() error {
		defer e.claim.end()
		return c.store.Put(blob)
	}})
}

// task is one write to the store, done in the background.
type task struct {
	what string // for the log, when it fails
	do   func() error

	done *uint64 // the counter of what was done, of pendingCounters.total; nil: none
}

// addTask counts and queues a task, unless nothing is saved. The caller holds mu.
func (c *Cache) addTask(t task) {
	if !c.options.NoSave {
		c.mu.unstored++
		c.enqueue(t)
	}
}

// enqueue queues a task for the writer: one goroutine, which runs while there are
// tasks. The caller holds mu and has counted the task in unstored.
func (c *Cache) enqueue(t task) {
	c.mu.queue = append(c.mu.queue, t)
	if !c.mu.writing {
		c.mu.writing = true
		c.background.Go(c.writeQueue)
	}
}

func (c *Cache) writeQueue() {
	for {
		c.mu.Lock()
		if len(c.mu.queue) == 0 {
			c.mu.queue = nil
			c.mu.writing = false
			c.mu.Unlock()
			return
		}
		next := c.mu.queue[0]
		c.mu.queue = c.mu.queue[1:]
		c.mu.Unlock()

		region := trace.Begin(c.options.Tracer, trace.Writes, writeTask, trace.Write)
		err := next.do()
		region.End(trace.String("what", next.what))
		c.checkStore(next.what, err)
		c.mu.Lock()
		if err == nil && next.done != nil {
			*next.done++
		}
		c.finishTask()
		c.mu.Unlock()
	}
}

// finishTask uncounts a task that was done, failed or is not needed. The caller
// holds mu.
func (c *Cache) finishTask() {
	c.mu.unstored--
	c.mu.idle.Broadcast()
}

// WaitStored waits until every program compiled so far is stored, or could not be. It
// records no statistics: Flush and Close do.
func (c *Cache) WaitStored() {
	c.dev.PollWhile(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.awaitStored(nil)
	})
}

// checkStore counts a failure of the store, and logs the first of its kind, unless err is nil.
func (c *Cache) checkStore(what string, err error) {
	if err == nil || errors.Is(err, binary.ErrReadOnly) {
		return // an upstream directory alone: expected
	}
	c.mu.Lock()
	c.mu.counters.total.StoreFailures++
	first := !c.mu.warned[what]
	c.mu.warned[what] = true
	c.mu.Unlock()
	if first {
		c.log.Warn("the program store failed, the cache continues without it", "doing", what, "error", err)
	}
}
