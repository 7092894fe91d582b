package cache

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// Flush waits until every program compiled so far is stored, then has the store
// record uses and counters. On an error nothing is lost: the next Flush records
// the same. Without a store it only waits.
func (c *Cache) Flush() error {
	c.dev.PollWhile(c.recording.Lock)
	defer c.recording.Unlock()
	c.WaitStored()
	c.mu.Lock()
	closed := c.mu.closed
	c.mu.Unlock()
	err := errClosed
	if !closed {
		err = c.keepHouse()
	}
	if err != nil {
		return fmt.Errorf("cache: flush: %w", err)
	}
	return nil
}

// Close waits for running loads and writes, deletes all programs, records what
// Flush records and closes the store. When programs have handles it does nothing
// of that and returns an *[InUseError]; the cache stays usable. Any other error
// comes from the store, and the cache is closed.
func (c *Cache) Close() error {
	c.dev.PollWhile(func() { // until nothing is being loaded or written
		c.mu.Lock()
		c.awaitStored(func() bool { return len(c.mu.flights) == 0 })
	})
	if c.mu.closed {
		c.mu.Unlock()
		return errClosed
	}
	entries := c.mu.resident.entries()
	if inUse := sealAll(entries); len(inUse) > 0 {
		c.mu.Unlock()
		return &InUseError{Programs: inUse}
	}
	for _, e := range entries {
		c.mu.counters.collect(e)
		c.mu.resident.remove(e)
		if c.options.Tracer != nil {
			c.traceUnused(e)
		}
	}
	c.mu.closed = true
	c.mu.evicted = newEvictedBlobs(-1)
	c.mu.Unlock()

	c.stopWatching()
	c.dropAll(entries)
	c.dev.PollWhile(c.background.Wait)
	c.recording.Lock()
	defer c.recording.Unlock()
	c.putHistory()
	if err := errors.Join(c.keepHouse(), c.store.Close()); err != nil {
		return fmt.Errorf("cache: close: %w", err)
	}
	return nil
}

// keepHouse does what a process leaves to the next ones, step by step:
//
//	settle    the driver has written its machine code, which belongs to programs then
//	record    uses and counters; the store merges those of other processes, and writes the
//	          views of them (binary/record.go)
//	compiled  the sources that this start compiled
//	trim      the limits on the disk; before, where there is no room to record
//
// After an error of record the next call does the same again. The caller holds recording.
func (c *Cache) keepHouse() error {
	region := trace.Begin(c.options.Tracer, trace.Writes, recordTask, trace.Flush)
	defer func() { region.End() }()
	settle := region.Begin(trace.Settle)
	c.settleDriver()
	settle.End()
	compiled, err := c.record()
	if osfile.IsNoSpace(err) {
		c.checkStore("trimming", c.trim())
		compiled, err = c.record()
	}
	if err != nil {
		c.checkStore("recording", err)
		return err
	}
	if len(compiled) > 0 {
		c.checkStore("recording compiled sources", c.store.PutCompiled(compiled))
	}
	c.checkStore("trimming", c.trim())
	return nil
}

// settleDriver waits until the driver has written the machine code of the programs that
// were made since the last call, so that it can be attributed to them.
func (c *Cache) settleDriver() {
	c.mu.Lock()
	made := len(c.mu.counters.made) > 0
	c.mu.Unlock()
	if made {
		c.dev.SettleDriverCache()
	}
}

// record has the store record what is pending, and returns the sources that were compiled.
func (c *Cache) record() (compiled []*shader.Source, err error) {
	c.mu.Lock()
	for _, e := range c.mu.resident.entries() {
		c.mu.counters.collect(e)
	}
	c.mu.counters.addMachineCode(true)
	uses, total := c.mu.counters.takeUses(), c.mu.counters.total
	counters := total.Less(c.mu.counters.recorded)
	c.mu.Unlock()
	if len(uses) == 0 && counters == (binary.Counters{}) {
		return nil, nil
	}
	err = c.store.Record(uses, counters)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.mu.counters.giveBack(uses)
		return nil, err
	}
	c.mu.counters.recorded = total
	compiled, c.mu.counters.compiled = c.mu.counters.compiled, nil
	return compiled, nil
}

// trim enforces the limits on the disk.
func (c *Cache) trim() error {
	if c.options.MaxDiskBytes < 0 && c.options.MaxDiskFiles < 0 && c.options.MaxDiskAge < 0 {
		return nil
	}
	now := c.clock.wall()
	if age := now.Sub(c.trimmed); age >= 0 && age < time.Hour { // a full volume may keep no other note of it
		return nil
	}
	c.trimmed = now
	_, _, err := c.store.Trim(binary.PruneOptions{
		MaxBytes: c.options.MaxDiskBytes,
		MaxFiles: c.options.MaxDiskFiles,
		MaxAge:   c.options.MaxDiskAge,
		Now:      now,
	})
	return err
}

// Abandon makes calls fail with shader.ErrClosed from now on, and nothing else: for an owner that
// closes the device although Close returned an *[InUseError].
func (c *Cache) Abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.lost == nil {
		c.mu.lost = errClosed
	}
	c.index.clear()
}

// sealAll seals all entries, or none and returns those that have handles.
func sealAll(entries []*entry) (inUse []InUseProgram) {
	var idle []*entry
	for _, e := range entries {
		if e.seal() {
			idle = append(idle, e)
		} else {
			// At least one: it may have been released since.
			inUse = append(inUse, InUseProgram{Name: e.name, Key: e.key, Handles: max(1, e.handles())})
		}
	}
	if len(inUse) > 0 {
		for _, e := range idle {
			e.unsealFirst(lanes)
		}
	}
	slices.SortFunc(inUse, func(a, b InUseProgram) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Key[:], b.Key[:]))
	})
	return inUse
}
