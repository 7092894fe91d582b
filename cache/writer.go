package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/binary"
)

// fetches reports whether the binary of e is to be read back: for the store, or
// to be kept in memory.
func (c *Cache) fetches(e *entry) bool {
	return e.origin == Compiled && c.formats && !c.guard.unloadable[e.key] && (c.store != nil || c.options.KeepEvictedBytes > 0)
}

// fetch reads back the binary of a program that was compiled, gives up the
// ownership that landing gave for this, and hands the blob to the writer. The
// program has been primed by now, so it is known to work.
func (c *Cache) fetch(ctx context.Context, e *entry) {
	if !c.fetches(e) {
		return
	}
	format, payload, err := c.dev.Binary(ctx, e.program.ID)
	e.drop(c.dev)
	if err != nil {
		c.storeFailed("reading a program binary from the driver", err)
	}
	if err != nil || len(payload) == 0 {
		c.mu.Lock()
		c.lose(err)
		c.written()
		c.mu.Unlock()
		return
	}
	c.write(e, &binary.Blob{
		Key:          e.key,
		Fingerprint:  c.driver,
		Format:       format,
		Payload:      payload,
		Name:         e.name,
		Created:      c.clock.wall(),
		CompileNanos: e.compileNanos,
		WorkGroup:    e.program.Interface.WorkGroup,
		Interface:    e.program.Interface.Digest(),
	})
}

// write keeps blob in memory where that is wanted and queues it for the store.
func (c *Cache) write(e *entry, blob *binary.Blob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.kept.worth(blob) && !e.passed {
		if !e.evicted {
			e.blob = blob
		} else if c.mu.resident.find(e.key) == nil {
			c.mu.kept.add(blob)
		}
	}
	if c.store == nil {
		c.written()
		return
	}
	c.enqueue(task{what: "writing", do: func() error { return c.store.Put(blob) }, blob: true})
}

// SourceKeeper is what a Store has that keeps the texts of programs.
// *binary.Store has it; Options.KeepSources makes use of it.
type SourceKeeper interface {
	// PutSource keeps a source, unless it is kept already.
	PutSource(src *Source) error
}

// keepSource has the store keep the text of e. The caller holds mu.
func (c *Cache) keepSource(src *Source, e *entry) {
	keeper, ok := c.store.(SourceKeeper)
	if ok && c.options.KeepSources && e.origin != Memory {
		c.mu.unstored++
		c.enqueue(task{what: "keeping a source", do: func() error { return keeper.PutSource(src) }})
	}
}

// task is something that the store has to learn, in the background.
type task struct {
	what string // for the log, when it fails
	do   func() error
	blob bool // counts as stored
}

// enqueue hands a task to the writer: one goroutine, which lives while there is
// something to write. The caller holds mu and has counted the task in unstored.
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

		err := next.do()
		if err != nil {
			c.storeFailed(next.what, err)
		}
		c.mu.Lock()
		if err == nil && next.blob {
			c.mu.ledger.fresh.Stored++
		}
		c.written()
		c.mu.Unlock()
	}
}

// written notes that the store knows something, or never will. The caller holds
// mu.
func (c *Cache) written() {
	c.mu.unstored--
	c.mu.quiet.Broadcast()
}

// Flush waits until every program compiled so far is stored, then has the store
// record uses and counters. On an error, binary.ErrBusy among them, nothing is
// lost: the next Flush offers the same again. Without a store it only waits.
func (c *Cache) Flush() error {
	c.serve(c.recording.Lock)
	defer c.recording.Unlock()
	if err := c.flush(); err != nil {
		return fmt.Errorf("cache: flush: %w", err)
	}
	return nil
}

// flush is Flush for who holds recording.
func (c *Cache) flush() error {
	c.waitStored()
	c.mu.Lock()
	closed := c.mu.closed
	c.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case c.store == nil:
		return nil
	}
	return c.record()
}

// record tells the store what it does not know yet. The caller holds recording
// and has a store.
func (c *Cache) record() error {
	c.mu.Lock()
	for _, e := range c.mu.resident.entries() {
		c.mu.ledger.settle(e)
	}
	uses, counters := c.mu.ledger.offer()
	c.mu.Unlock()
	if len(uses) == 0 && counters == (binary.Counters{}) {
		c.trim()
		return nil
	}
	err := c.store.Record(uses, counters)
	c.mu.Lock()
	if err == nil {
		c.mu.ledger.accept()
	} else {
		c.mu.ledger.refuse(uses)
	}
	c.mu.Unlock()
	if err != nil && !errors.Is(err, binary.ErrBusy) {
		c.storeFailed("recording", err)
	}
	if err == nil {
		c.trim()
	}
	return err
}

// lastTries is how often Close offers the store what it has to record; each try
// waits for as long as the store waits for its index.
const lastTries = 20

// recordLast is record with patience: there is no later. When other processes
// hold the index all the time, what is lost is statistics, and that is no
// failure of the caller's.
func (c *Cache) recordLast() error {
	for range lastTries {
		if err := c.record(); !errors.Is(err, binary.ErrBusy) {
			return err
		}
	}
	c.log.Warn("other processes held the index; hits and times of this process are lost", "tries", lastTries)
	return nil
}

// Trimmer is what a Store has that enforces limits now and then. *binary.Store
// has it.
type Trimmer interface {
	// Trim prunes the whole cache directory, unless that was done within the
	// last day; then it reports false.
	Trim(options binary.PruneOptions) (binary.PruneReport, bool, error)
}

// trim enforces the limits on the disk. The caller holds recording.
func (c *Cache) trim() {
	trimmer, ok := c.store.(Trimmer)
	if !ok || c.options.MaxDiskBytes <= 0 && c.options.MaxDiskAge <= 0 {
		return
	}
	_, _, err := trimmer.Trim(binary.PruneOptions{
		MaxBytes: c.options.MaxDiskBytes,
		MaxAge:   c.options.MaxDiskAge,
		Now:      c.clock.wall(),
	})
	if err != nil {
		c.storeFailed("trimming", err)
	}
}
