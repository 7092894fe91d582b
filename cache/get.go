package cache

import (
	"context"
	"fmt"
)

// Get returns a handle to the program of src: resident, else from bytes in
// memory or on disk, else compiled. The caller releases the handle.
//
// A resident program costs no lock, no GL call, no disk access, and no
// allocation where the handle does not escape; it is returned even when ctx has
// ended. Otherwise Get waits until the program is there or ctx ends. Work that
// has begun goes on without the caller and serves the next one.
//
// Errors: *shader.CompileError with the driver's log, which is remembered;
// *binary.QuarantinedError for a source that a process died of; shader.ErrOutOfMemory,
// shader.ErrContextLost (now and ever after), ErrFull, ErrClosed, ctx.Err().
// A store that fails is no error: the program is compiled.
func (c *Cache) Get(ctx context.Context, src *Source) (*Handle, error) {
	// One call only, so that Get is inlined and the compiler can put the handle
	// on the caller's stack.
	return c.get(ctx, src, new(Handle))
}

// get fills h in and returns it.
func (c *Cache) get(ctx context.Context, src *Source, h *Handle) (*Handle, error) {
	if src == nil || ctx == nil {
		return nil, fmt.Errorf("cache: get: %w", errNothing)
	}
	if e := c.index.find(src.Key()); e != nil {
		if s := e.acquire(); s != nil {
			return h.hit(s), nil
		}
	}
	return c.getSlowly(ctx, src, h)
}

// getSlowly is get for a program that the index does not show: it boards the
// flight of the program, the first one after beginning it.
func (c *Cache) getSlowly(ctx context.Context, src *Source, h *Handle) (*Handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, getError(src.Name(), err)
	}
	c.mayWait()
	f, first, err := c.wait(ctx, src, h)
	switch {
	case err != nil:
		return nil, getError(src.Name(), err)
	case f == nil:
		return h, nil
	}
	if first {
		c.begin(ctx, f)
	}
	if err := c.await(ctx, f); err != nil && c.leave(f) {
		return nil, getError(src.Name(), err)
	}
	if f.err != nil {
		return nil, getError(src.Name(), f.err)
	}
	if !first {
		return h.hit(&f.entry.shares[0]), nil
	}
	h.share, h.origin = &f.entry.shares[0], f.entry.origin
	return h, nil
}

// wait adds a waiter to the flight of src, which it begins if there is none, and
// reports whether it did. When the program has become resident meanwhile, wait
// fills h in instead and returns no flight.
func (c *Cache) wait(ctx context.Context, src *Source, h *Handle) (f *flight, first bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusal(); err != nil {
		return nil, false, err
	}
	if e := c.mu.resident.find(src.Key()); e != nil {
		// It landed just now, or it was sealed for a moment. Entries that stay
		// resident are sealed only under the lock, so acquire succeeds.
		h.hit(e.acquire())
		return nil, false, nil
	}
	if f := c.mu.flights[src.Key()]; f != nil {
		f.waiters++
		return f, false, nil
	}
	if err := c.knownFailure(src.Key()); err != nil {
		return nil, false, err
	}
	f, err = c.takeOff(src, false)
	if err != nil {
		return nil, false, err
	}
	f.waiters++
	c.background.Add(1)
	return f, true, nil
}

// begin flies a flight that wait began. A caller that can be cancelled must not
// be kept by it, so it flies on a goroutine of its own. Any other caller looks
// for a blob by itself, which saves a hand-over that costs more than reading
// the blob does.
func (c *Cache) begin(ctx context.Context, f *flight) {
	background := context.WithoutCancel(ctx)
	fly := c.fly
	if ctx.Done() == nil {
		if c.flyByBlob(background, f) {
			c.background.Done()
			return
		}
		fly = c.flyByCompiling
	}
	go func() {
		defer c.background.Done()
		fly(background, f)
	}()
}
