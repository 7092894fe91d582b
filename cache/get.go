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
// *binary.Quarantined for a source that crashed a process;
// shader.ErrOutOfMemory; shader.ErrContextLost, from then on for every call;
// shader.ErrClosed; ctx.Err(). A store that fails is no error: the program is compiled.
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
			return h.take(s), nil
		}
	}
	return c.getMissing(ctx, src, h)
}

// getMissing is get for a program that the index does not have.
func (c *Cache) getMissing(ctx context.Context, src *shader.Source, h *Handle) (*Handle, error) {
	get := trace.Begin(c.options.Tracer, trace.Requests, 0, trace.Get)
	if get.IsOn() {
		get.About(src.Name(), src.Key().String())
	}
	err := c.getFlight(ctx, src, h, &get)
	if err != nil {
		err = getError(src.Name(), err)
	}
	if get.IsOn() {
		endGet(&get, h, err)
	} else {
		get.End()
	}
	if err != nil {
		return nil, err
	}
	if c.history != nil {
		c.history.add(src, c.clock.wall())
	}
	return h, nil
}

// getFlight fills h in: it joins the flight of the program and waits for its end.
func (c *Cache) getFlight(ctx context.Context, src *shader.Source, h *Handle, get *trace.Region) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.dev.Pending() // panics before anything is started
	if err := c.awaitBeforeFirst(ctx, get); err != nil {
		return err
	}
	f, started, err := c.requestHandle(src, h)
	if f == nil {
		return err
	}
	if started {
		c.start(ctx, f, get)
	}
	if err := c.awaitTraced(ctx, f, get); err != nil && c.stopWaiting(f) {
		return err
	}
	switch {
	case f.err != nil:
		return errorFor(src, f.err)
	case started:
		h.share, h.origin = &f.entry.shares[0], f.entry.origin
	default:
		f.entry.shares[0].hit()
		h.take(&f.entry.shares[0])
	}
	return nil
}

// requestHandle adds a waiter to the flight of src and reports whether it started
// the flight. When the program has become resident meanwhile, it fills h in and
// returns no flight.
func (c *Cache) requestHandle(src *shader.Source, h *Handle) (f *flight, started bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, started, err = c.join(src, false)
	switch {
	case err != nil:
		return nil, false, err
	case f == nil:
		// It was completed just now, or its entry was sealed for a moment. Entries
		// that stay resident are sealed only under the lock, so acquire succeeds.
		h.take(c.mu.resident.find(src.Key()).acquire())
	default:
		f.waiters++
	}
	if started {
		c.background.Add(1)
	}
	return f, started, nil
}

// start makes the program of a flight that requestHandle started: policy, find, load or
// make. When the caller can be cancelled, all of it runs on another goroutine. Any other
// caller finds and loads itself, because handing that over costs more than reading a blob
// does.
func (c *Cache) start(ctx context.Context, f *flight, get *trace.Region) {
	background := context.WithoutCancel(ctx)
	rest := c.fly
	if f.answer = c.beforeFind(f.src, false); ctx.Done() == nil && f.answer.may != onlyApart {
		f.lane, f.task = trace.Requests, get.Task()
		if c.loadHere(background, f) {
			return
		}
		f.lane, f.task = trace.Loads, 0
		rest = c.makeOne
	}
	go func() {
		defer c.background.Done()
		rest(background, f)
	}()
}

// loadHere completes f from a blob, on the caller's goroutine, and reports whether it
// did. A panic, of the check of a source for example, ends the flight.
func (c *Cache) loadHere(ctx context.Context, f *flight) (completed bool) {
	missed := false
	defer func() {
		if !missed {
			c.endUnwound(f)
			c.background.Done()
		}
	}()
	r := c.fromBinary(ctx, f)
	if missed = r.missed(); !missed {
		c.complete(r)
	}
	return !missed
}

// fly makes the program of a flight whose policy was asked.
func (c *Cache) fly(ctx context.Context, f *flight) {
	if f.answer.may == onlyApart {
		<-c.guard.startTrial(f.src).done
		f.answer = c.beforeFind(f.src, true)
	}
	if r := c.fromBinary(ctx, f); !r.missed() {
		c.complete(r)
		return
	}
	c.makeOne(ctx, f)
}

func (c *Cache) makeOne(ctx context.Context, f *flight) {
	c.make(ctx, []*flight{f}, func(r result) { c.complete(r) })
}
