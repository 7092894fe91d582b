package cache

import (
	"context"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// SingleFlight makes caches of several devices compile a program once: the cache that is
// first compiles it, and the others wait and load its binary, where their driver is the
// same. Make it with [NewSingleFlight], and give it to all of them in
// Options.SingleFlight. Its methods may be called from any goroutine.
type SingleFlight struct {
	mu struct {
		sync.Mutex
		compiles map[sharedKey]*sharedCompile
	}
}

// NewSingleFlight returns one for caches that are still to be made.
func NewSingleFlight() *SingleFlight {
	f := &SingleFlight{}
	f.mu.compiles = map[sharedKey]*sharedCompile{}
	return f
}

// sharedKey is a program of a driver.
type sharedKey struct {
	driver shader.Digest
	key    shader.Key
}

// sharedCompile is one compile. Its binary is kept until the store has it:
//
//	compiling   the owner compiles; others wait for done
//	done        blob is what it made; nil: nothing
//	stored      other caches over the directory find it there
type sharedCompile struct {
	owner *Cache
	done  chan struct{}

	// Guarded by SingleFlight.mu, and set before done is closed.
	blob   *binary.Blob
	stored bool
}

// begin returns the compile of a program. Where there is none, or a former one of c itself,
// it starts one, which c has to end: then mine is true.
func (s *SingleFlight) begin(c *Cache, key shader.Key) (f *sharedCompile, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := sharedKey{c.driver, key}
	if f := s.mu.compiles[k]; f != nil && !(f.owner == c && f.isComplete()) {
		return f, f.owner == c
	}
	f = &sharedCompile{owner: c, done: make(chan struct{})}
	s.mu.compiles[k] = f
	return f, true
}

func (f *sharedCompile) isComplete() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// result returns the binary of a compile that is done, or that the store has it.
func (s *SingleFlight) result(f *sharedCompile) (blob *binary.Blob, stored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.blob, f.stored
}

// complete ends the compile of a program that c has started, with its binary, or with nil: then
// others compile it.
func (s *SingleFlight) complete(c *Cache, key shader.Key, blob *binary.Blob) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := sharedKey{c.driver, key}
	f := s.mu.compiles[k]
	if f == nil || f.owner != c || f.isComplete() {
		return
	}
	if f.blob = blob; blob == nil {
		delete(s.mu.compiles, k)
	}
	close(f.done)
}

// store notes that the store of c has the binary of a program, or that it cannot have it.
func (s *SingleFlight) store(c *Cache, key shader.Key, stored bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := sharedKey{c.driver, key}
	f := s.mu.compiles[k]
	if f == nil || f.owner != c || !f.isComplete() {
		return
	}
	if f.blob, f.stored = nil, stored; !stored {
		delete(s.mu.compiles, k)
	}
}

// forget removes a compile that was of no use to c.
func (s *SingleFlight) forget(c *Cache, key shader.Key, f *sharedCompile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := (sharedKey{c.driver, key}); s.mu.compiles[k] == f {
		delete(s.mu.compiles, k)
	}
}

// compileOrWait is compile for caches of several devices. Programs that no other cache
// compiles are compiled first, and readBack has their binaries read, so that two caches
// never wait for each other; then those that others compiled are loaded. What they could
// not is compiled here.
func (c *Cache) compileOrWait(ctx context.Context, loads []*load, done func(result), readBack func()) {
	shared := c.options.SingleFlight
	if shared == nil {
		c.compile(ctx, loads, done)
		return
	}
	for len(loads) > 0 {
		var mine, others []*load
		var compiles []*sharedCompile
		for _, l := range loads {
			if f, own := shared.begin(c, l.src.Key()); own {
				mine = append(mine, l)
			} else {
				others, compiles = append(others, l), append(compiles, f)
			}
		}
		c.compileOwned(ctx, mine, done)
		readBack()
		loads = c.awaitOthers(ctx, others, compiles, done)
	}
}

// compileOwned compiles programs whose compiles c has started. The compiles of those that
// cannot be compiled, that are checked again first, or whose binary is not read end here.
func (c *Cache) compileOwned(ctx context.Context, loads []*load, done func(result)) {
	if len(loads) == 0 {
		return
	}
	compiled := map[shader.Key]bool{}
	defer func() {
		for _, l := range loads {
			if !compiled[l.src.Key()] {
				c.options.SingleFlight.complete(c, l.src.Key(), nil)
			}
		}
	}()
	c.compile(ctx, loads, func(r result) {
		compiled[r.load.src.Key()] = r.err == nil && c.readsBack(r.entry) && !r.needsRecheck()
		done(r)
	})
}

// awaitOthers waits for the compiles of other caches and loads their binaries. It returns
// the loads that could not be loaded.
func (c *Cache) awaitOthers(ctx context.Context, loads []*load, compiles []*sharedCompile, done func(result)) (missed []*load) {
	for i, l := range loads {
		r := result{load: l}
		if r.err = c.awaitClosed(ctx, compiles[i].done); r.err == nil {
			r = c.loadShared(ctx, l, compiles[i])
		}
		if r.missed() {
			c.options.SingleFlight.forget(c, l.src.Key(), compiles[i])
			missed = append(missed, l)
			continue
		}
		done(r)
	}
	return missed
}

// loadShared makes the program of l from what a compile made. The result is missed where
// that was nothing, or the driver does not accept it.
func (c *Cache) loadShared(ctx context.Context, l *load, f *sharedCompile) result {
	blob, stored := c.options.SingleFlight.result(f)
	switch {
	case stored:
		return c.loadStored(ctx, l)
	case blob == nil || l.answer.may != mayLoad:
		return result{load: l}
	}
	r := result{load: l, blob: blob}
	r.entry, r.err = c.loadBlob(ctx, l, blob, job.Memory)
	return r
}
