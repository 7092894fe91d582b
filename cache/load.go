package cache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// fromBinary makes the program of f from a binary: find, then load. The result is missed when
// there is none that may be loaded and that the driver accepts; then make asks the policy.
func (c *Cache) fromBinary(ctx context.Context, f *flight) result {
	region := trace.Begin(c.options.Tracer, f.lane, f.task, trace.Load)
	if region.IsOn() {
		region.About(f.src.Name(), f.src.Key().String())
	}
	b, r := c.find(f, &region), result{flight: f}
	if b.blob != nil {
		own := f.tally.Rejected + f.tally.WrongAnswers - f.tally.UpstreamRejected // of an attempt before
		r = c.load(trace.WithRegion(ctx, &region), f, b)
		if b.blob.Upstream {
			f.tally.UpstreamRejected = f.tally.Rejected + f.tally.WrongAnswers - own
		}
	}
	if region.IsOn() {
		endLoad(&region, r, b)
	} else {
		region.End()
	}
	return r
}

// load has the driver make the program of f from a binary, compares its interface with that
// of the program that was stored, and has it checked. The driver primes it. The result is
// missed when the binary was rejected, and when the driver had no memory for it: compiling
// may take less.
func (c *Cache) load(ctx context.Context, f *flight, b found) result {
	program, err := c.loadRetrying(ctx, f, b.blob)
	switch {
	case errors.Is(err, shader.ErrRejected):
		return c.rejectedBlob(f, err.Error())
	case errors.Is(err, shader.ErrOutOfMemory):
		return result{flight: f}
	case err != nil:
		return result{flight: f, err: err}
	}
	if reason := mismatch(program, b.blob); reason != "" {
		c.dev.Delete(program.ID)
		return c.rejectedBlob(f, reason)
	}
	e := newEntry(f.src, program, b.origin, c.clock)
	e.measured.CompileNanos = b.blob.CompileNanos
	if f.src.Check() != nil {
		wrong, err := c.checkLoaded(ctx, f.src, e, b.blob)
		if wrong != nil || err != nil {
			c.dev.Delete(program.ID)
		}
		switch {
		case wrong != nil:
			return c.wrongBlob(f, wrong)
		case err != nil:
			return result{flight: f, err: err}
		}
	}
	return result{flight: f, entry: e, blob: b.blob}
}

// loadRetrying loads again when the first attempt ran out of memory.
func (c *Cache) loadRetrying(ctx context.Context, f *flight, blob *binary.Blob) (program shader.Program, err error) {
	for range 2 {
		c.guard.during(binary.ActionLoad, f.src.Key(), f.src.Name(), f.answer.alone, func() {
			program, err = c.dev.Load(ctx, blob.Format, blob.Payload)
		})
		if !errors.Is(err, shader.ErrOutOfMemory) {
			break
		}
		c.freeMemory(f)
	}
	if err == nil && f.answer.alone {
		c.guard.clearSuspect(f.src.Key())
	}
	return program, err
}

// mismatch returns how a loaded program differs from the one that was stored, or
// "". Some drivers accept a binary and make another program of it.
func mismatch(program shader.Program, blob *binary.Blob) string {
	if program.Interface.WorkGroup != blob.WorkGroup {
		return "the loaded program has another work group size"
	}
	if program.Interface.Digest() != blob.Interface {
		return "the loaded program has another interface"
	}
	return ""
}

// rejectedBlob discards a blob that the driver refused. The result is missed.
func (c *Cache) rejectedBlob(f *flight, reason string) result {
	f.tally.Rejected++
	c.discardBlob(f.src.Key(), reason)
	return result{flight: f}
}

// wrongBlob discards a blob whose program failed its check. The result is missed, unless
// another compile would not change the answer.
func (c *Cache) wrongBlob(f *flight, wrong error) result {
	f.tally.WrongAnswers++
	key := f.src.Key()
	if c.isAlwaysWrong(key) {
		return result{flight: f, err: &WrongAnswerError{Keys: []shader.Key{key}, Err: wrong, Compiled: true}}
	}
	c.mu.Lock()
	c.mu.wrong[key] = false
	c.mu.Unlock()
	c.discardBlob(key, "the loaded program gave a wrong answer: "+wrong.Error())
	return result{flight: f}
}

// discardBlob removes a blob from memory and has the store reject it.
func (c *Cache) discardBlob(key shader.Key, reason string) {
	c.mu.Lock()
	c.mu.evicted.remove(key)
	delete(c.mu.checked, key)
	c.mu.Unlock()
	if err := c.store.Reject(key, reason); err != nil && !errors.Is(err, binary.ErrNotFound) {
		c.mu.Lock()
		if _, wrong := c.mu.wrong[key]; wrong {
			c.mu.wrong[key] = true
		}
		c.mu.Unlock()
		c.checkStore("rejecting a blob", err)
	}
}

// freeMemory counts a failure for lack of memory and evicts every program without handles.
func (c *Cache) freeMemory(f *flight) {
	f.tally.OutOfMemory++
	c.evict(c.mu.resident.evictIdle)
}
