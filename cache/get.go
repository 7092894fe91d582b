package cache

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// Get returns a handle to the program of src: resident, else from bytes in
// memory or on disk, else compiled. The caller releases the handle.
//
// A resident program costs no lock, no GL call, no disk access, and no
// allocation where the handle does not escape; it is returned even when ctx has
// ended. Otherwise Get waits until the program is resident or ctx ends. A load
// that was started continues without the caller and serves the next one.
//
// Errors: *shader.CompileError with the driver's log, which is remembered;
// *binary.QuarantinedError for a source that crashed a process;
// shader.ErrOutOfMemory; shader.ErrContextLost, from then on for every call;
// ErrFull; ErrClosed; ctx.Err(). A store that fails is no error: the program is
// compiled.
func (c *Cache) Get(ctx context.Context, src *shader.Source) (*Handle, error) {
	// One call only, so that Get is inlined and the compiler can put the handle
	// on the caller's stack.
	return c.get(ctx, src, new(Handle))
}

// get fills h in and returns it.
func (c *Cache) get(ctx context.Context, src *shader.Source, h *Handle) (*Handle, error) {
	if src == nil || ctx == nil {
		return nil, fmt.Errorf("cache: get: %w", errNothing)
	}
	if e := c.index.find(src.Key()); e != nil {
		if s := e.acquire(); s != nil {
			return h.hit(s), nil
		}
	}
	return c.getMissing(ctx, src, h)
}

// getMissing is get for a program that the index does not have: it joins the load
// of the program and waits for its end.
func (c *Cache) getMissing(ctx context.Context, src *shader.Source, h *Handle) (*Handle, error) {
	get := trace.Begin(c.options.Tracer, trace.Requests, 0, trace.Get)
	about(&get, src)
	got, err := c.getTraced(ctx, src, h, &get)
	if err == nil {
		c.addHistory(src)
	}
	endGet(&get, got, err)
	return got, err
}

// getTraced is getMissing within its region.
func (c *Cache) getTraced(ctx context.Context, src *shader.Source, h *Handle, get *trace.Region) (*Handle, error) {
	if err := ctx.Err(); err != nil {
		return nil, getError(src.Name(), err)
	}
	c.dev.Pending() // panics before anything is started
	if err := c.awaitFirst(ctx, get); err != nil {
		return nil, getError(src.Name(), err)
	}
	l, started, err := c.requestHandle(src, h)
	if err != nil {
		return nil, getError(src.Name(), err)
	}
	if l == nil {
		return h, nil
	}
	if started {
		c.startLoad(ctx, l, get)
	}
	if err := c.awaitTraced(ctx, l, get); err != nil && c.stopWaiting(l) {
		return nil, getError(src.Name(), err)
	}
	if l.err != nil {
		return nil, getError(src.Name(), errorFor(src, l.err))
	}
	if !started {
		return h.hit(&l.entry.shares[0]), nil
	}
	h.share, h.origin = &l.entry.shares[0], l.entry.origin
	return h, nil
}

// requestHandle adds a waiter to the load of src and reports whether it started
// the load. When the program has become resident meanwhile, it fills h in and
// returns no load.
func (c *Cache) requestHandle(src *shader.Source, h *Handle) (l *load, started bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, started, err = c.join(src, false)
	switch {
	case err != nil:
		return nil, false, err
	case l == nil:
		// Its load was completed just now, or it was sealed for a moment. Entries
		// that stay resident are sealed only under the lock, so acquire succeeds.
		h.hit(c.mu.resident.find(src.Key()).acquire())
	default:
		l.waiters++
	}
	if started {
		c.background.Add(1)
	}
	return l, started, nil
}

// startLoad makes the program of a load that requestHandle started. When the
// caller can be cancelled, all of it runs on another goroutine. Any other caller
// looks for a blob itself, because handing that over costs more than reading the
// blob does.
func (c *Cache) startLoad(ctx context.Context, l *load, get *trace.Region) {
	background := context.WithoutCancel(ctx)
	rest := c.loadOrCompile
	l.answer = c.beforeFind(l.src, false)
	if ctx.Done() == nil && l.answer.may != onlyApart {
		l.lane, l.task = trace.Requests, get.Task()
		if c.loadHere(background, l) {
			return
		}
		l.lane, l.task = trace.Loads, 0
		rest = c.compileLoad
	}
	go func() {
		defer c.background.Done()
		rest(background, l)
	}()
}

// loadHere completes l from a blob, on the caller's goroutine, and reports whether it
// did. A panic, of the check of a source for example, ends the load.
func (c *Cache) loadHere(ctx context.Context, l *load) (completed bool) {
	missed := false
	defer func() {
		if !missed {
			c.endUnwound(l)
			c.background.Done()
		}
	}()
	r := c.loadStored(ctx, l)
	if missed = r.missed(); !missed {
		c.complete(r)
	}
	return !missed
}
