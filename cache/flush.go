package cache

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// Flush waits until every program compiled so far is stored, then has the store
// record uses and counters. On an error, binary.ErrBusy among them, nothing is
// lost: the next Flush records the same. Without a store it only waits.
func (c *Cache) Flush() error {
	c.dev.PollWhile(c.recording.Lock)
	defer c.recording.Unlock()
	if err := c.flushLocked(); err != nil {
		return fmt.Errorf("cache: flush: %w", err)
	}
	return nil
}

// WaitStored waits until every program compiled so far is stored, or could not be, also
// with SaveAtFlush. It records no statistics: Flush and Close do.
func (c *Cache) WaitStored() { c.waitStored() }

// Prune deletes blobs and driver cache files by age and size; resident programs
// stay. Uses of this process are recorded first, if the store can, so that they
// count. Without a store there is nothing to prune.
func (c *Cache) Prune(o binary.PruneOptions) (binary.PruneReport, error) {
	c.dev.PollWhile(c.recording.Lock)
	defer c.recording.Unlock()
	if err := c.flushLocked(); errors.Is(err, ErrClosed) {
		return binary.PruneReport{}, fmt.Errorf("cache: prune: %w", err)
	}
	if o.Now.IsZero() {
		o.Now = c.clock.wall()
	}
	report, err := c.store.Prune(o)
	if err != nil {
		return report, fmt.Errorf("cache: prune: %w", err)
	}
	return report, nil
}

// flushLocked is Flush for callers that hold recording.
func (c *Cache) flushLocked() error {
	c.waitStored()
	c.mu.Lock()
	closed := c.mu.closed
	c.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return c.record()
}

// record has the store record what is pending. The caller holds recording.
func (c *Cache) record() error {
	region := trace.Begin(c.options.Tracer, trace.Writes, recordTask, trace.Flush)
	defer func() { region.End() }()
	settle := region.Begin(trace.Settle)
	c.settleDriver()
	settle.End()
	c.mu.Lock()
	for _, e := range c.mu.resident.entries() {
		c.mu.counters.collect(e)
	}
	c.mu.counters.addMachineCode(true)
	uses, counters := c.mu.counters.take()
	c.mu.Unlock()
	if len(uses) == 0 && counters == (binary.Counters{}) {
		c.trim()
		return nil
	}
	err := c.store.Record(uses, counters)
	var compiled []*shader.Source
	c.mu.Lock()
	if err == nil {
		c.mu.counters.commit()
		compiled = c.mu.counters.takeCompiled()
	} else {
		c.mu.counters.rollback(uses)
	}
	c.mu.Unlock()
	if err == nil && len(compiled) > 0 {
		if err := c.store.PutCompiled(compiled); err != nil {
			c.storeFailed("recording compiled sources", err)
		}
	}
	if err == nil {
		c.trim()
	} else if !errors.Is(err, binary.ErrBusy) {
		c.storeFailed("recording", err)
	}
	return err
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

// recordAttempts is how often Close calls Record; each call waits for as long as
// the store waits for its index.
const recordAttempts = 20

// recordLast is record for Close, after which there is no other attempt. When
// other processes hold the index all the time, statistics are lost, which is no
// error of Close.
func (c *Cache) recordLast() error {
	for range recordAttempts {
		if err := c.record(); !errors.Is(err, binary.ErrBusy) {
			return err
		}
	}
	c.log.Warn("other processes held the index; hits and times of this process are lost", "tries", recordAttempts)
	return nil
}

// trim enforces the limits on the disk. The caller holds recording.
func (c *Cache) trim() {
	if c.options.MaxDiskBytes < 0 && c.options.MaxDiskFiles < 0 && c.options.MaxDiskAge < 0 {
		return
	}
	_, _, err := c.store.Trim(binary.PruneOptions{
		MaxBytes: c.options.MaxDiskBytes,
		MaxFiles: c.options.MaxDiskFiles,
		MaxAge:   c.options.MaxDiskAge,
		Now:      c.clock.wall(),
	})
	if err != nil {
		c.storeFailed("trimming", err)
	}
}
