package cache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// flight makes one program resident, for everyone who asks for it meanwhile.
type flight struct {
	src  *Source
	done chan struct{} // closed when the flight has landed

	// passing: the program is for the store, and becomes resident only if a Get
	// waits for it.
	passing bool

	// Guarded by Cache.mu.
	waiters  int // Gets that will take a handle
	watchers int // preloads that want to know the end

	// Set before done is closed. With a nil err, every waiter owns one handle,
	// counted in the entry's first share.
	entry *entry
	err   error
}

// takeOff begins a flight. The caller holds mu, has checked that the program is
// neither resident nor in flight, and sees to it that the flight lands.
func (c *Cache) takeOff(src *Source, passing bool) (*flight, error) {
	if c.options.FailWhenFull && !passing && c.mu.resident.stuck() {
		return nil, ErrFull
	}
	f := &flight{src: src, done: make(chan struct{}), passing: passing}
	c.mu.flights[src.Key()] = f
	return f, nil
}

// land ends a flight: e becomes resident, others make room for it, and the
// waiters get their handles; or err is everyone's answer.
func (c *Cache) land(f *flight, e *entry, blob *binary.Blob, err error) {
	c.mu.Lock()
	var out []*entry
	if err == nil {
		c.mu.ledger.made(e, blob)
		c.keepSource(f.src, e)
		out, err = c.arrive(f, e, blob)
	} else if isCompileError(err) {
		err = c.failed(f.src, err)
	} else if isQuarantined(err) {
		c.mu.ledger.fresh.Refusals++
	}
	c.lose(err)
	if err == nil {
		f.entry = e
		e.shares[0].refs.Add(int64(f.waiters))
	}
	c.end(f, err)
	c.mu.Unlock()
	c.dropAll(out)
}

// abandon ends a flight that its pilot gives up because of err. If others wait
// for it, it flies on, on a goroutine of its own.
func (c *Cache) abandon(ctx context.Context, f *flight, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiters > 0 || f.watchers > 0 {
		c.background.Go(func() { c.fly(ctx, f) })
		return
	}
	c.end(f, err)
}

// end gives everyone the answer. The caller holds mu.
func (c *Cache) end(f *flight, err error) {
	f.err = err
	delete(c.mu.flights, f.src.Key())
	close(f.done)
	c.mu.quiet.Broadcast()
}

// arrive sends e where its flight goes and returns what is to be dropped. The
// caller holds mu.
func (c *Cache) arrive(f *flight, e *entry, blob *binary.Blob) (out []*entry, err error) {
	if c.fetches(e) {
		e.owners.Add(1)
		c.mu.unstored++
	}
	if err := c.refusal(); err != nil {
		e.evicted = true
		return []*entry{e}, err
	}
	if f.passing && f.waiters == 0 {
		e.evicted, e.passed = true, true
		return []*entry{e}, nil
	}
	return c.admit(e, blob)
}

// admit puts e among the resident and returns what had to leave; when e cannot
// stay, that is e. The caller holds mu.
func (c *Cache) admit(e *entry, blob *binary.Blob) (out []*entry, err error) {
	out, fits := c.mu.resident.makeRoom(int64(e.program.Bytes))
	c.retire(out)
	if !fits && c.options.FailWhenFull {
		e.evicted = true
		return append(out, e), ErrFull
	}
	if !fits {
		c.mu.ledger.fresh.OverCapacity++
	}
	c.mu.kept.remove(e.key)
	if c.mu.kept.worth(blob) {
		e.blob = blob
	}
	c.mu.resident.add(e)
	return out, nil
}

// leave takes a waiter off a flight. It reports false when the flight has
// landed, and the waiter owns a handle already.
func (c *Cache) leave(f *flight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-f.done:
		return false
	default:
		f.waiters--
		return true
	}
}

// fly brings a flight to its end, on a goroutine of its own.
func (c *Cache) fly(ctx context.Context, f *flight) {
	if !c.flyByBlob(ctx, f) {
		c.flyByCompiling(ctx, f)
	}
}

// flyByBlob lands a flight whose program a blob holds, or that failed on the
// way. It reports false when the source has to be compiled.
func (c *Cache) flyByBlob(ctx context.Context, f *flight) bool {
	c.recover()
	found := c.find(f.src)
	e, err := c.reload(ctx, f.src, found)
	if e == nil && err == nil {
		return false
	}
	c.land(f, e, found.blob, err)
	return true
}

func (c *Cache) flyByCompiling(ctx context.Context, f *flight) {
	c.compile(ctx, []*flight{f}, func(f *flight, e *entry, err error) {
		c.land(f, e, nil, err)
		if err == nil {
			c.fetch(ctx, e)
		}
	})
}

// found is a blob that may hold a program, and where it was; none is the zero
// value.
type found struct {
	blob   *binary.Blob
	origin Origin
}

// find looks for a blob in memory and in the store. A store that fails or holds
// damaged bytes is a miss with a counter.
func (c *Cache) find(src *Source) found {
	if c.guard.unloadable[src.Key()] {
		return found{}
	}
	c.mu.Lock()
	blob := c.mu.kept.find(src.Key())
	c.mu.Unlock()
	if blob != nil {
		return found{blob, Memory}
	}
	if c.store == nil {
		return found{}
	}
	blob, err := c.store.Get(src.Key())
	switch {
	case err == nil:
		return found{blob, Disk}
	case errors.Is(err, binary.ErrDamaged):
		c.mu.Lock()
		c.mu.ledger.fresh.Damaged++
		c.mu.Unlock()
	case !errors.Is(err, binary.ErrNotFound):
		c.storeFailed("reading", err)
	}
	return found{}
}

// reload makes a program from a blob. Both results are nil when there is no
// blob, or when the driver refused it and it was set aside: then the source has
// to be compiled.
func (c *Cache) reload(ctx context.Context, src *Source, found found) (*entry, error) {
	if found.blob == nil {
		return nil, nil
	}
	program, err := c.loadBlob(ctx, src, found.blob)
	if errors.Is(err, shader.ErrRejected) {
		c.setAside(src.Key(), err.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if reason := mismatch(program, found.blob); reason != "" {
		c.dev.Delete(program.ID)
		c.setAside(src.Key(), reason)
		return nil, nil
	}
	wrong, err := c.check(ctx, src, program, found.blob)
	if wrong != nil || err != nil {
		c.dev.Delete(program.ID)
	}
	if wrong != nil {
		c.mu.Lock()
		c.mu.ledger.fresh.WrongAnswers++
		c.mu.Unlock()
		c.throwAway(src.Key(), "the loaded program gave a wrong answer: "+wrong.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := newEntry(src, program, found.origin, c.clock)
	e.compileNanos = found.blob.CompileNanos
	return e, nil
}

// loadBlob loads once more when the first try ran out of memory.
func (c *Cache) loadBlob(ctx context.Context, src *Source, blob *binary.Blob) (shader.Program, error) {
	program, err := c.loadOnce(ctx, src, blob)
	if !errors.Is(err, shader.ErrOutOfMemory) {
		return program, err
	}
	c.ranOutOfMemory(1)
	program, err = c.loadOnce(ctx, src, blob)
	if errors.Is(err, shader.ErrOutOfMemory) {
		c.ranOutOfMemory(1)
	}
	return program, err
}

func (c *Cache) loadOnce(ctx context.Context, src *Source, blob *binary.Blob) (shader.Program, error) {
	c.serve(c.guard.alone.RLock)
	defer c.guard.alone.RUnlock()
	c.guard.enter(binary.ActionLoad, src)
	defer c.guard.leave(binary.ActionLoad, src)
	return c.dev.Load(ctx, blob.Format, blob.Payload)
}

// ranOutOfMemory counts and gives back all that nobody uses.
func (c *Cache) ranOutOfMemory(times int) {
	c.mu.Lock()
	c.mu.ledger.fresh.OutOfMemory += uint64(times)
	c.mu.Unlock()
	c.evictIdle()
}

// mismatch says how a loaded program differs from the one that was stored, or
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

// setAside keeps a refused blob from being tried again.
func (c *Cache) setAside(key shader.Key, reason string) {
	c.mu.Lock()
	c.mu.ledger.fresh.Rejected++
	c.mu.Unlock()
	c.throwAway(key, reason)
}

// throwAway forgets a blob and has the store set it aside.
func (c *Cache) throwAway(key shader.Key, reason string) {
	c.mu.Lock()
	c.mu.kept.remove(key)
	delete(c.mu.checked, key)
	c.mu.Unlock()
	if c.store == nil {
		return
	}
	if err := c.store.Reject(key, reason); err != nil && !errors.Is(err, binary.ErrNotFound) {
		c.storeFailed("setting a blob aside", err)
	}
}

// compile makes the programs of flights side by side and calls done once for
// each, on the calling goroutine. The device does not see sources that are
// refused or known to fail, and gets suspects one at a time.
func (c *Cache) compile(ctx context.Context, flights []*flight, done func(*flight, *entry, error)) {
	var together []*flight
	for _, f := range flights {
		if err := c.forbidden(f.src); err != nil {
			done(f, nil, err)
		} else if c.guard.isSuspect(f.src.Key()) {
			c.compileAlone(ctx, f, done)
		} else {
			together = append(together, f)
		}
	}
	if len(together) > 0 {
		c.serve(c.guard.alone.RLock)
		defer c.guard.alone.RUnlock()
		c.compileTogether(ctx, together, done)
	}
}

// forbidden is why the device must not see a source, or nil.
func (c *Cache) forbidden(src *Source) error {
	if q, ok := c.guard.refused[src.Key()]; ok {
		q.Name = src.Name()
		return &binary.QuarantinedError{Quarantined: q}
	}
	return c.storedFailure(src)
}

// compileAlone compiles a suspect while the device does nothing else. If the
// process lives to see the end, the suspicion is over.
func (c *Cache) compileAlone(ctx context.Context, f *flight, done func(*flight, *entry, error)) {
	var program *entry
	var outcome error
	c.serve(c.guard.alone.Lock)
	c.compileTogether(ctx, []*flight{f}, func(_ *flight, e *entry, err error) { program, outcome = e, err })
	c.guard.alone.Unlock()
	if outcome == nil || isCompileError(outcome) {
		c.absolve(f.src.Key())
	}
	done(f, program, outcome)
}

// compileTogether gives those that ran out of memory a second try after
// everything idle was evicted.
func (c *Cache) compileTogether(ctx context.Context, flights []*flight, done func(*flight, *entry, error)) {
	var starved []*flight
	c.compileOnce(ctx, flights, func(f *flight, e *entry, err error) {
		if errors.Is(err, shader.ErrOutOfMemory) {
			starved = append(starved, f)
			return
		}
		done(f, e, err)
	})
	if len(starved) == 0 {
		return
	}
	c.ranOutOfMemory(len(starved))
	c.compileOnce(ctx, starved, func(f *flight, e *entry, err error) {
		if errors.Is(err, shader.ErrOutOfMemory) {
			c.ranOutOfMemory(1)
		}
		done(f, e, err)
	})
}

func (c *Cache) compileOnce(ctx context.Context, flights []*flight, done func(*flight, *entry, error)) {
	sources := make([]*Source, len(flights))
	for i, f := range flights {
		sources[i] = f.src
	}
	c.guard.enter(binary.ActionCompile, sources...)
	c.dev.Compile(ctx, sources, func(i int, program shader.Program, err error) {
		c.guard.leave(binary.ActionCompile, sources[i])
		if err != nil {
			done(flights[i], nil, err)
			return
		}
		done(flights[i], newEntry(sources[i], program, Compiled, c.clock), nil)
	})
}
