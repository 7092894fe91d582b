package cache

import (
	"context"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// SingleFlight makes caches of several devices compile a program once: the cache that is
// first compiles it, and the others wait and load its binary, where their driver is the
// same. Make it with [NewSingleFlight], and give it to all of them in
// Options.SingleFlight. Its methods may be called from any goroutine.
type SingleFlight struct {
	mu struct {
		sync.Mutex
		flights map[flightKey]*flight
	}
}

// NewSingleFlight returns one for caches that are still to be made.
func NewSingleFlight() *SingleFlight {
	f := &SingleFlight{}
	f.mu.flights = map[flightKey]*flight{}
	return f
}

// flightKey is a program of a driver.
type flightKey struct {
	driver shader.Digest
	key    shader.Key
}

// flight is one compile. Its binary is kept until the store has it:
//
//	in flight   the owner compiles; others wait for landed
//	landed      blob is what it made; nil: nothing
//	stored      other caches over the directory find it there
type flight struct {
	owner  *Cache
	landed chan struct{}

	// Guarded by SingleFlight.mu, and set before landed is closed.
	blob   *binary.Blob
	stored bool
}

// begin returns the flight of a program. Where there is none, or a former one of c itself,
// it starts one, which c has to end: then mine is true.
func (s *SingleFlight) begin(c *Cache, key shader.Key) (f *flight, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := flightKey{c.driver, key}
	if f := s.mu.flights[k]; f != nil && !(f.owner == c && f.hasLanded()) {
		return f, f.owner == c
	}
	f = &flight{owner: c, landed: make(chan struct{})}
	s.mu.flights[k] = f
	return f, true
}

func (f *flight) hasLanded() bool {
	select {
	case <-f.landed:
		return true
	default:
		return false
	}
}

// result returns the binary of a flight that has landed, or that the store has it.
func (s *SingleFlight) result(f *flight) (blob *binary.Blob, stored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.blob, f.stored
}

// land ends the flight of a program that c has started, with its binary, or with nil: then
// others compile it.
func (s *SingleFlight) land(c *Cache, key shader.Key, blob *binary.Blob) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := flightKey{c.driver, key}
	f := s.mu.flights[k]
	if f == nil || f.owner != c || f.hasLanded() {
		return
	}
	if f.blob = blob; blob == nil {
		delete(s.mu.flights, k)
	}
	close(f.landed)
}

// store notes that the store of c has the binary of a program, or that it cannot have it.
func (s *SingleFlight) store(c *Cache, key shader.Key, stored bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := flightKey{c.driver, key}
	f := s.mu.flights[k]
	if f == nil || f.owner != c || !f.hasLanded() {
		return
	}
	if f.blob, f.stored = nil, stored; !stored {
		delete(s.mu.flights, k)
	}
}

// forget removes a flight that was of no use to c.
func (s *SingleFlight) forget(c *Cache, key shader.Key, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := (flightKey{c.driver, key}); s.mu.flights[k] == f {
		delete(s.mu.flights, k)
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
		var flights []*flight
		for _, l := range loads {
			if f, own := shared.begin(c, l.src.Key()); own {
				mine = append(mine, l)
			} else {
				others, flights = append(others, l), append(flights, f)
			}
		}
		c.compileFlights(ctx, mine, done)
		readBack()
		loads = c.awaitFlights(ctx, others, flights, done)
	}
}

// compileFlights compiles programs whose flights c has started. The flights of those that
// cannot be compiled, that are checked again first, or whose binary is not read end here.
func (c *Cache) compileFlights(ctx context.Context, loads []*load, done func(result)) {
	if len(loads) == 0 {
		return
	}
	compiled := map[shader.Key]bool{}
	defer func() {
		for _, l := range loads {
			if !compiled[l.src.Key()] {
				c.options.SingleFlight.land(c, l.src.Key(), nil)
			}
		}
	}()
	c.compile(ctx, loads, func(r result) {
		compiled[r.load.src.Key()] = r.err == nil && c.readsBack(r.entry) && !c.needsRecheck(r)
		done(r)
	})
}

// awaitFlights waits for the compiles of other caches and loads their binaries. It returns
// the loads that could not be loaded.
func (c *Cache) awaitFlights(ctx context.Context, loads []*load, flights []*flight, done func(result)) (missed []*load) {
	for i, l := range loads {
		r := result{load: l}
		if r.err = c.awaitClosed(ctx, flights[i].landed); r.err == nil {
			r = c.loadLanded(ctx, l, flights[i])
		}
		if r.missed() {
			c.options.SingleFlight.forget(c, l.src.Key(), flights[i])
			missed = append(missed, l)
			continue
		}
		done(r)
	}
	return missed
}

// loadLanded makes the program of l from what a flight made. The result is missed where
// that was nothing, or the driver does not accept it.
func (c *Cache) loadLanded(ctx context.Context, l *load, f *flight) result {
	blob, stored := c.options.SingleFlight.result(f)
	switch {
	case stored:
		return c.loadStored(ctx, l)
	case blob == nil || !c.guard.isLoadable(l.src.Key()):
		return result{load: l}
	}
	r := result{load: l, blob: blob}
	r.entry, r.err = c.loadBlob(ctx, l.src, blob, Memory)
	return r
}
