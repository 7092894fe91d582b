package cache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// loadOrCompile completes l with a program from a blob, else by compiling.
func (c *Cache) loadOrCompile(ctx context.Context, l *load) {
	if l.answer.may == onlyApart {
		<-c.guard.startTrial(l.src).done
		l.answer = c.beforeFind(l.src, true)
	}
	if r := c.loadStored(ctx, l); !r.missed() {
		c.complete(r)
		return
	}
	c.compileLoad(ctx, l)
}

// loadStored makes the program of l from a blob in memory or in the store. The
// result is missed when there is no blob that the driver accepts.
func (c *Cache) loadStored(ctx context.Context, l *load) result {
	if l.answer.may == refused {
		return result{load: l, err: l.answer.err}
	}
	region := trace.Begin(c.options.Tracer, l.lane, l.task, trace.Load)
	about(&region, l.src)
	r := result{load: l}
	blob, origin := c.readTraced(l, &region)
	if blob != nil {
		r.blob = blob
		r.entry, r.err = c.loadBlob(trace.WithRegion(ctx, &region), l, blob, origin)
	}
	endLoad(&region, r, origin)
	return r
}

// findBlob returns the blob of a program that may be loaded, and where it was, or nil. A store that
// fails or has damaged bytes is counted and is a miss.
func (c *Cache) findBlob(l *load) (*binary.Blob, job.Origin) {
	if l.answer.may != mayLoad {
		return nil, 0
	}
	key := l.src.Key()
	c.mu.Lock()
	blob := c.mu.evicted.find(key)
	c.mu.Unlock()
	if blob != nil {
		return blob, job.Memory
	}
	blob, err := c.store.Get(key)
	switch {
	case err == nil:
		return blob, job.Disk
	case errors.Is(err, binary.ErrDamaged):
		c.count(&c.mu.counters.pending.Damaged, 1)
	case !errors.Is(err, binary.ErrNotFound):
		c.storeFailed("reading", err)
	}
	return nil, 0
}

// loadBlob makes a program from a blob. Both results are nil when the blob was
// rejected, by the driver or because the program differs from the one that was
// stored, and when the driver had no memory for it.
func (c *Cache) loadBlob(ctx context.Context, l *load, blob *binary.Blob, origin job.Origin) (*entry, error) {
	src := l.src
	program, err := c.loadWithRetry(ctx, l, blob)
	if errors.Is(err, shader.ErrRejected) {
		c.rejectBlob(src.Key(), err.Error())
		return nil, nil
	}
	if errors.Is(err, shader.ErrOutOfMemory) {
		return nil, nil // not the blob's fault; compiling it may take less
	}
	if err != nil {
		return nil, err
	}
	if reason := mismatch(program, blob); reason != "" {
		c.dev.Delete(program.ID)
		c.rejectBlob(src.Key(), reason)
		return nil, nil
	}
	unchecked, wrong, err := c.checkLoaded(ctx, src, program, blob)
	if wrong != nil || err != nil {
		c.dev.Delete(program.ID)
	}
	if wrong != nil {
		c.count(&c.mu.counters.pending.WrongAnswers, 1)
		if c.isAlwaysWrong(src.Key()) {
			return nil, &WrongAnswerError{Keys: []shader.Key{src.Key()}, Err: wrong, Compiled: true}
		}
		c.setWrong(src.Key())
		c.discardBlob(src.Key(), "the loaded program gave a wrong answer: "+wrong.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := newEntry(src, program, origin, c.clock)
	e.compileNanos = blob.CompileNanos
	e.unchecked = unchecked
	return e, nil
}

// loadWithRetry loads again when the first attempt ran out of memory.
func (c *Cache) loadWithRetry(ctx context.Context, l *load, blob *binary.Blob) (shader.Program, error) {
	program, err := c.loadOnce(ctx, l, blob)
	if !errors.Is(err, shader.ErrOutOfMemory) {
		return program, err
	}
	c.freeMemory(1)
	program, err = c.loadOnce(ctx, l, blob)
	if errors.Is(err, shader.ErrOutOfMemory) {
		c.freeMemory(1)
	}
	return program, err
}

func (c *Cache) loadOnce(ctx context.Context, l *load, blob *binary.Blob) (shader.Program, error) {
	c.guard.begin(l.answer.alone)
	defer c.guard.end(l.answer.alone)
	c.guard.markAll(binary.ActionLoad, l.src)
	program, err := c.dev.Load(ctx, blob.Format, blob.Payload)
	c.guard.unmark(binary.ActionLoad, l.src)
	if err == nil {
		c.guard.clearSuspect(l.src.Key())
	}
	return program, err
}

// freeMemory counts times failures for lack of memory and evicts every program
// without handles.
func (c *Cache) freeMemory(times int) {
	c.count(&c.mu.counters.pending.OutOfMemory, times)
	c.evictIdle()
}

// mismatch returns how a loaded program differs from the one that was stored, or
// "". Some drivers accept a binary and make another program of it.
func mismatch(program shader.Program, blob *binary.Blob) string {
	if program.Interface.WorkGroup != blob.WorkGroup {
		return "the loaded program has another work group size"
	}
	if !program.Interface.Matches(blob.Interface) {
		return "the loaded program has another interface"
	}
	return ""
}

// rejectBlob counts and discards a blob that the driver refused.
func (c *Cache) rejectBlob(key shader.Key, reason string) {
	c.count(&c.mu.counters.pending.Rejected, 1)
	c.discardBlob(key, reason)
}

// discardBlob removes a blob from memory and has the store reject it.
func (c *Cache) discardBlob(key shader.Key, reason string) {
	c.mu.Lock()
	c.mu.evicted.remove(key)
	delete(c.mu.checked, key)
	c.mu.Unlock()
	if err := c.store.Reject(key, reason); err != nil && !errors.Is(err, binary.ErrNotFound) {
		c.storeFailed("rejecting a blob", err)
	}
}
