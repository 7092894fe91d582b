package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// A program is made once, whoever asks for it:
//
//	goroutines  share the flight of the program: the first makes it, the others wait
//	caches      of several devices share a SingleFlight: one has the claim on compiling the
//	            program, the others load what it made
//	processes   with Options.ShareCompiles: one has the claim of the store, the others load
//	            what it stored
//
// A flight begins before anything is looked for, and a claim where a compile would.

// flight is one program on its way to being resident:
//
//	join      the first request starts the flight and makes the program; others wait
//	complete  the program becomes resident, and every waiting Get owns a handle
//	abandon   the request that started the flight was cancelled; others may still wait
type flight struct {
	src  *shader.Source
	done chan struct{} // closed when the flight is complete

	// storeOnly: the program is made for the store, and becomes resident only if
	// a Get waits for it, or a preload wants that.
	storeOnly bool

	// Used by the owner only.
	answer answer          // of the policy, as of the last question
	tally  binary.Counters // what is to be counted when it is complete
	lane   trace.Lane      // of its events
	task   uint64          // of its events; 0: a new one for each

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
	flight *flight
	entry  *entry
	blob   *binary.Blob // what entry was loaded from; nil: it was compiled
	err    error
}

// missed reports whether a result of fromBinary has neither: the source has to
// be compiled.
func (r result) missed() bool { return r.entry == nil && r.err == nil }

// join returns the flight of src, and reports whether it started it: then the
// caller has to complete or abandon it. It returns none when the program is
// resident. The caller holds mu.
func (c *Cache) join(src *shader.Source, storeOnly bool) (f *flight, started bool, err error) {
	if err := c.unusable(); err != nil {
		return nil, false, err
	}
	if c.mu.resident.find(src.Key()) != nil {
		return nil, false, nil
	}
	if f := c.mu.flights[src.Key()]; f != nil {
		f.storeOnly = f.storeOnly && storeOnly
		return f, false, nil
	}
	if err := c.knownFailure(src); err != nil {
		return nil, false, err
	}
	f = &flight{src: src, done: make(chan struct{}), storeOnly: storeOnly, lane: trace.Loads}
	c.mu.flights[src.Key()] = f
	return f, true, nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// await waits until a channel is closed or ctx ends, and returns the error of ctx
// then.
func (c *Cache) await(ctx context.Context, closed <-chan struct{}) error {
	if isClosed(closed) { // most often: no other goroutine is needed
		return nil
	}
	var err error
	c.dev.PollWhile(func() {
		select {
		case <-closed:
		case <-ctx.Done():
			err = ctx.Err()
		}
	})
	return err
}

// stopWaiting removes a waiter from f. It reports false when f is complete: then
// the waiter owns a handle.
func (c *Cache) stopWaiting(f *flight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isClosed(f.done) {
		return false
	}
	f.waiters--
	return true
}

// abandon ends a flight whose request was cancelled with err. When others wait for
// it, it is continued on a goroutine of its own.
func (c *Cache) abandon(ctx context.Context, f *flight, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiters > 0 || f.watchers > 0 {
		c.background.Go(func() {
			f.answer = c.beforeFind(f.src, false)
			c.fly(ctx, f)
		})
		return
	}
	c.publish(f, err)
}

// complete ends a flight and returns its error. The program becomes resident,
// evicting others where it needs their room, and the waiters get their handles.
func (c *Cache) complete(r result) error {
	c.mu.Lock()
	var dropped []*entry
	err := r.err
	switch {
	case err == nil:
		if r.flight.waiters == 0 && !r.flight.storeOnly {
			c.watchUse(r) // before a Get finds the entry
		}
		dropped, err = c.accept(r)
	case isCompileError(err):
		c.addFailure(r.flight, err)
	case errors.Is(err, binary.ErrQuarantined):
		c.mu.counters.total.Refusals++
	}
	if err != nil {
		c.setLost(err)
	} else {
		r.flight.entry = r.entry
		r.entry.shares[0].refs.Add(int64(r.flight.waiters))
	}
	c.publish(r.flight, err)
	c.mu.Unlock()
	c.dropAll(dropped)
	if err == nil && c.options.MinFreeGPUBytes > 0 {
		c.watchMemory()
	}
	return err
}

// publish gives err, or the entry, to everything that waits for f. The caller
// holds mu.
func (c *Cache) publish(f *flight, err error) {
	f.err = err
	if f.tally != (binary.Counters{}) {
		c.mu.counters.total.Add(f.tally)
	}
	delete(c.mu.flights, f.src.Key())
	close(f.done)
	c.mu.idle.Broadcast()
}

// endUnwound ends a flight whose request was left by a panic or by runtime.Goexit. It
// does nothing when the flight is complete.
func (c *Cache) endUnwound(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !isClosed(f.done) {
		c.publish(f, errUnwound)
	}
}

// accept counts a program that was made and makes it resident, unless it is for
// the store only. It returns the entries to drop. The caller holds mu.
func (c *Cache) accept(r result) (dropped []*entry, err error) {
	e := r.entry
	c.mu.counters.addLoad(r.flight.src, e, r.blob, r.flight.storeOnly && r.flight.waiters == 0)
	if c.options.KeepSources && e.origin != job.Memory {
		src := r.flight.src
		c.addTask(task{what: "keeping a source", do: func() error { return c.store.PutSource(src) }})
	}
	if c.options.Backfill && e.origin == job.Disk && r.blob.Upstream {
		blob := r.blob
		c.addTask(task{what: "copying a program from upstream", do: func() error { return c.store.Put(blob) }, done: &c.mu.counters.total.Backfilled})
	}
	if e.readBack {
		e.owners.Add(1)
		c.mu.unstored++
	}
	if err := c.unusable(); err != nil {
		e.evicted = true
		return []*entry{e}, err
	}
	if r.flight.storeOnly && r.flight.waiters == 0 {
		e.evicted, e.storeOnly = true, true
		return []*entry{e}, nil
	}
	return c.admit(e, r.blob), nil
}

// admit makes e resident and returns the entries that it evicted. The caller holds mu.
func (c *Cache) admit(e *entry, blob *binary.Blob) (dropped []*entry) {
	resident, size := &c.mu.resident, int64(e.program.Bytes)
	if !resident.fits(size) {
		dropped = resident.evict(func(int) bool { return resident.fits(size) })
		c.retire(dropped)
	}
	if !resident.fits(size) {
		c.mu.counters.total.OverCapacity++
	}
	c.mu.evicted.remove(e.key)
	if c.mu.evicted.accepts(blob) {
		e.blob = blob
	}
	c.mu.resident.add(e)
	return dropped
}

// SingleFlight makes caches of several devices compile a program once: the cache that is
// first compiles it, and the others wait and load its binary, where their driver is the
// same. Make it with [NewSingleFlight], and give it to all of them in
// Options.SingleFlight. Its methods may be called from any goroutine.
type SingleFlight struct {
	claims sync.Map // sharedKey to *claim
}

// NewSingleFlight returns one for caches that are still to be made.
func NewSingleFlight() *SingleFlight { return &SingleFlight{} }

// sharedKey is a program of a driver.
type sharedKey struct {
	driver shader.Digest
	key    shader.Key
}

// claim is the right to compile a program, which one cache of a process, and one process, has
// at a time. The entry has it until its binary is stored. A nil claim is that of a cache which
// shares with none.
//
//	claimed   others wait
//	made      its binary is known: other caches load it
//	ended     the store has it, or cannot have it: others look there, and claim
type claim struct {
	among   *SingleFlight // nil: no other cache
	key     sharedKey
	made    chan struct{} // closed when it is made or ended
	blob    *binary.Blob  // set before made is closed; nil: there is none
	release func()        // of the store; nil: no other process
}

// add adds a claim, unless there is another on the program, and returns the one that is
// there then.
func (s *SingleFlight) add(k *claim) *claim {
	k.among = s
	first, _ := s.claims.LoadOrStore(k.key, k)
	return first.(*claim)
}

// remove removes a claim.
func (s *SingleFlight) remove(k *claim) { s.claims.CompareAndDelete(k.key, k) }

// hasBlob reports whether another cache has made the program.
func (k *claim) hasBlob() bool { return k != nil && isClosed(k.made) && k.blob != nil }

// make gives the binary of the program to other caches.
func (k *claim) make(blob *binary.Blob) {
	if k != nil {
		k.blob = blob
		close(k.made)
	}
}

// end ends a claim. Only its owner calls it.
func (k *claim) end() {
	if k == nil {
		return
	}
	if k.among != nil {
		k.among.remove(k)
	}
	if k.release != nil {
		k.release()
	}
	if !isClosed(k.made) {
		close(k.made)
	}
}

// claim claims the program of f. Without success it returns the claim of another cache, or
// none where another process has it.
func (c *Cache) claim(f *flight) (mine, other *claim) {
	k := &claim{key: sharedKey{c.driver, f.src.Key()}, made: make(chan struct{})}
	if s := c.options.SingleFlight; s != nil {
		if other := s.add(k); other != k {
			return nil, other
		}
	}
	if c.options.ShareCompiles > 0 {
		release, claimed := c.store.Claim(f.src.Key())
		if !claimed {
			k.end()
			return nil, nil
		}
		k.release = release
	}
	return k, nil
}

// claimPoll is how often a claim of another process is looked at: short beside compiling,
// which takes tens of milliseconds.
const claimPoll = time.Millisecond

// awaitClaim waits until another cache has made a program, or until it is time to look again
// for what another process made; on the device's own thread with its work.
func (c *Cache) awaitClaim(ctx context.Context, other *claim) {
	if other != nil {
		_ = c.await(ctx, other.made)
		return
	}
	c.dev.PollWhile(func() {
		select {
		case <-time.After(claimPoll):
		case <-ctx.Done():
		}
	})
}
