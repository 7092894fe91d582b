package cache

import (
	"context"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// load is one program on its way to being resident. All requests for the
// program share the load, so that it is loaded or compiled once:
//
//	join      the first request starts the load and makes the program; others wait
//	complete  the program becomes resident, and every waiting Get owns a handle
//	abandon   the request that started the load was cancelled; others may still wait
type load struct {
	src  *shader.Source
	done chan struct{} // closed when the load is complete

	// storeOnly: the program is made for the store, and becomes resident only if
	// a Get waits for it.
	storeOnly bool

	// Where its events belong; task 0 is a new one for each event. Used by the owner only.
	lane trace.Lane
	task uint64

	answer answer // of the policy, as of the last question. Used by the owner only

	// Guarded by Cache.mu.
	waiters  int // Gets that will own a handle
	watchers int // preloads that wait for the result

	// Set before done is closed. With a nil err, every waiter owns one handle,
	// counted in the entry's first share.
	entry *entry
	err   error
}

// result is the outcome of loading or compiling a program: an entry or an error.
type result struct {
	load  *load
	entry *entry
	blob  *binary.Blob // what entry was loaded from; nil: it was compiled
	err   error
}

// missed reports whether a result of loadStored has neither: the source has to
// be compiled.
func (r result) missed() bool { return r.entry == nil && r.err == nil }

// join returns the load of src, and reports whether it started it: then the
// caller has to complete or abandon it. It returns no load when the program is
// resident. The caller holds mu.
func (c *Cache) join(src *shader.Source, storeOnly bool) (l *load, started bool, err error) {
	if err := c.unusable(); err != nil {
		return nil, false, err
	}
	if c.mu.resident.find(src.Key()) != nil {
		return nil, false, nil
	}
	if l := c.mu.loads[src.Key()]; l != nil {
		return l, false, nil
	}
	if err := c.knownFailure(src); err != nil {
		return nil, false, err
	}
	if c.options.FailWhenFull && !storeOnly && c.mu.resident.stuck() {
		return nil, false, ErrFull
	}
	l = &load{src: src, done: make(chan struct{}), storeOnly: storeOnly, lane: trace.Loads}
	c.mu.loads[src.Key()] = l
	return l, true, nil
}

// await waits until l is complete. It returns ctx.Err() when ctx ends before.
func (c *Cache) await(ctx context.Context, l *load) (err error) {
	c.dev.PollWhile(func() {
		select {
		case <-l.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	})
	return err
}

// stopWaiting removes a waiter from l. It reports false when l is complete: then
// the waiter owns a handle.
func (c *Cache) stopWaiting(l *load) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-l.done:
		return false
	default:
		l.waiters--
		return true
	}
}

// abandon ends a load whose request was cancelled with err. When others wait for
// it, it is continued on a goroutine of its own.
func (c *Cache) abandon(ctx context.Context, l *load, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.waiters > 0 || l.watchers > 0 {
		c.background.Go(func() { c.loadOrCompile(ctx, l) })
		return
	}
	c.publish(l, err)
}

// complete ends a load and returns its error. The program becomes resident,
// evicting others where it needs their room, and the waiters get their handles.
func (c *Cache) complete(r result) error {
	c.mu.Lock()
	var dropped []*entry
	err := r.err
	switch {
	case err == nil:
		dropped, err = c.accept(r)
	case isCompileError(err):
		c.addFailure(r.load, err)
	case isQuarantined(err):
		c.mu.counters.pending.Refusals++
	}
	c.setLost(err)
	if err == nil {
		c.watchUse(r)
		r.load.entry = r.entry
		r.entry.shares[0].refs.Add(int64(r.load.waiters))
	}
	c.publish(r.load, err)
	c.mu.Unlock()
	if r.entry != nil && !c.readsBack(r.entry) {
		r.entry.endClaim()
	}
	c.dropAll(dropped)
	if err == nil {
		c.watchMemory()
	}
	return err
}

// publish gives err, or the entry, to everything that waits for l. The caller
// holds mu.
func (c *Cache) publish(l *load, err error) {
	l.err = err
	delete(c.mu.loads, l.src.Key())
	close(l.done)
	c.mu.idle.Broadcast()
}

// endUnwound ends a load whose request was left by a panic or by runtime.Goexit. It
// does nothing when the load is complete.
func (c *Cache) endUnwound(l *load) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-l.done:
	default:
		c.publish(l, errUnwound)
	}
}

// accept counts a program that was made and makes it resident, unless it is for
// the store only. It returns the entries to drop. The caller holds mu.
func (c *Cache) accept(r result) (dropped []*entry, err error) {
	e := r.entry
	c.mu.counters.addLoad(r.load.src, e, r.blob, r.load.storeOnly && r.load.waiters == 0)
	c.keepSource(r.load.src, e)
	c.backfill(e, r.blob)
	if c.readsBack(e) {
		e.owners.Add(1)
		c.mu.unstored++
	}
	if err := c.unusable(); err != nil {
		e.evicted = true
		return []*entry{e}, err
	}
	if r.load.storeOnly && r.load.waiters == 0 {
		e.evicted, e.storeOnly = true, true
		return []*entry{e}, nil
	}
	return c.admit(e, r.blob)
}

// admit makes e resident and returns the entries that it evicted; when e does
// not fit, that is e. The caller holds mu.
func (c *Cache) admit(e *entry, blob *binary.Blob) (dropped []*entry, err error) {
	dropped, fits := c.mu.resident.makeRoom(int64(e.program.Bytes))
	c.retire(dropped)
	if !fits && c.options.FailWhenFull {
		e.evicted = true
		return append(dropped, e), ErrFull
	}
	if !fits {
		c.mu.counters.pending.OverCapacity++
	}
	c.mu.evicted.remove(e.key)
	if c.mu.evicted.accepts(blob) {
		e.blob = blob
	}
	c.mu.resident.add(e)
	return dropped, nil
}
