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

// flight is one compile, from its start until its binary was read from the driver.
type flight struct {
	owner  *Cache
	landed chan struct{} // closed when it has ended
	blob   *binary.Blob  // what it made, set before; nil: none
}

// begin returns the flight of a program. Where there is none it starts one for c, which
// has to end it: then mine is true.
func (s *SingleFlight) begin(c *Cache, key shader.Key) (f *flight, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := flightKey{c.driver, key}
	if f := s.mu.flights[k]; f != nil {
		return f, f.owner == c
	}
	f = &flight{owner: c, landed: make(chan struct{})}
	s.mu.flights[k] = f
	return f, true
}

// end ends the flight of a program with its binary, or nil, where c has one.
func (s *SingleFlight) end(c *Cache, key shader.Key, blob *binary.Blob) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := flightKey{c.driver, key}
	f := s.mu.flights[k]
	if f == nil || f.owner != c {
		return
	}
	delete(s.mu.flights, k)
	f.blob = blob
	close(f.landed)
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
				c.options.SingleFlight.end(c, l.src.Key(), nil)
			}
		}
	}()
	c.compile(ctx, loads, func(r result) {
		compiled[r.load.src.Key()] = r.err == nil && c.readsBack(r.entry) && !c.needsRecheck(r)
		done(r)
	})
}

// awaitFlights waits for the compiles of other caches and loads their binaries. It returns
// the loads without one.
func (c *Cache) awaitFlights(ctx context.Context, loads []*load, flights []*flight, done func(result)) (missed []*load) {
	for i, l := range loads {
		if err := c.awaitClosed(ctx, flights[i].landed); err != nil {
			done(result{load: l, err: err})
			continue
		}
		if flights[i].blob == nil || !c.guard.isLoadable(l.src.Key()) {
			missed = append(missed, l)
			continue
		}
		r := result{load: l, blob: flights[i].blob}
		if r.entry, r.err = c.loadBlob(ctx, l.src, r.blob, Memory); r.missed() {
			missed = append(missed, l)
			continue
		}
		done(r)
	}
	return missed
}
