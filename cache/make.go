package cache

import (
	"context"
	"errors"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// make compiles the sources of flights, each once among the caches and the processes that
// share their compiles; what others compiled is loaded. It calls done with each result as
// soon as there is one, on the calling goroutine, and done completes the flight. The new
// binaries are read from the driver and stored in the background.
func (c *Cache) make(ctx context.Context, flights []*flight, done func(result)) {
	var m making
	m.end = func(r result) {
		if r.err == nil && r.entry.readBack {
			m.compiled = append(m.compiled, r.entry)
		}
		done(r)
	}
	defer c.readBackAll(ctx, &m) // also when done calls runtime.Goexit
	if c.options.SingleFlight == nil && c.options.ShareCompiles <= 0 {
		c.compile(ctx, flights, m.add)
	} else {
		c.makeShared(ctx, flights, &m)
	}
	for _, r := range m.wrong {
		m.end(c.recheck(ctx, r))
	}
}

// making is one call of make.
type making struct {
	end      func(result)
	wrong    []result // to be checked again once the device has compiled the others
	compiled []*entry // whose binaries are to be read
}

// add ends with a result, unless it is to be checked again.
func (m *making) add(r result) {
	if r.err == nil && r.flight.answer.recheck {
		m.wrong = append(m.wrong, r)
	} else {
		m.end(r)
	}
}

// makeShared is make without what is to be checked again. A cache never waits for another
// with a claim of its own that is not made: the binaries of what it compiled are read before.
// Where nothing happens to what other processes claimed for as long as
// Options.ShareCompiles, it is compiled without a claim.
func (c *Cache) makeShared(ctx context.Context, flights []*flight, m *making) {
	for last := time.Now(); len(flights) > 0 && ctx.Err() == nil; {
		left, other := c.makeClaimed(ctx, flights, m.add)
		c.readBackAll(ctx, m)
		stays := len(left) == len(flights)
		if stays {
			c.awaitClaim(ctx, other)
		}
		switch {
		case !stays || other.hasBlob(): // a claim that ends without may only have met that of a process
			last = time.Now()
		case c.options.ShareCompiles > 0 && time.Since(last) >= c.options.ShareCompiles:
			c.compile(ctx, left, m.add)
			return
		}
		flights = left
	}
	for _, f := range flights {
		m.add(result{flight: f, err: ctx.Err()})
	}
}

// readBackAll has the binaries of what was compiled read in the background.
func (c *Cache) readBackAll(ctx context.Context, m *making) {
	compiled := m.compiled
	if m.compiled = nil; len(compiled) == 0 {
		return
	}
	c.background.Go(func() {
		for _, e := range compiled {
			c.readBack(context.WithoutCancel(ctx), e)
		}
	})
}

// makeClaimed loads what others have made, and compiles what it can claim. Among processes that
// is one program at a time, so that none waits for a program that is not being compiled. It
// returns the rest, and the claim of another cache on the first of them.
func (c *Cache) makeClaimed(ctx context.Context, flights []*flight, done func(result)) (left []*flight, other *claim) {
	claims := map[*flight]*claim{}
	defer func() {
		for _, k := range claims { // of what has no result: the device or done panicked
			k.end()
		}
	}()
	var mine []*flight
	for i, f := range flights {
		r, k, theirs := c.claimOrLoad(ctx, f)
		switch {
		case !r.missed():
			done(r)
		case k != nil:
			mine, claims[f] = append(mine, f), k
		default:
			if left = append(left, f); len(left) == 1 {
				other = theirs
			}
		}
		if len(mine) > 0 && c.options.ShareCompiles > 0 {
			left = append(left, flights[i+1:]...)
			break
		}
	}
	c.compile(ctx, mine, func(r result) {
		k := claims[r.flight]
		delete(claims, r.flight)
		if r.err == nil && r.entry.readBack && !r.flight.answer.recheck {
			r.entry.claim = k // until its binary is stored
		} else {
			k.end()
		}
		done(r)
	})
	return left, other
}

// claimOrLoad claims the program of f, or loads what another made. The result is missed with
// the claim, mine, and where another has it: other, or another process.
func (c *Cache) claimOrLoad(ctx context.Context, f *flight) (r result, mine, other *claim) {
	mine, other = c.claim(f)
	r.flight = f
	if mine != nil && c.options.ShareCompiles > 0 {
		c.guard.readNotes() // of processes that died since: a compile takes much longer
	}
	switch {
	case mine != nil && !f.answer.alone && c.beforeFind(f.src, false).may == onlyApart: // its process died
		mine.end()
		_ = c.await(ctx, c.guard.startTrial(f.src).done)
		f.answer = c.beforeFind(f.src, true)
		return r, nil, nil
	case mine != nil: // another may have stored it since the request was a miss
		if r = c.fromBinary(ctx, f); !r.missed() {
			mine.end()
		}
		return r, mine, nil
	case other == nil || !isClosed(other.made):
		return r, nil, other
	case other.blob != nil && f.answer.may == mayLoad:
		r = c.load(ctx, f, found{other.blob, job.Memory})
	}
	if r.missed() {
		c.options.SingleFlight.remove(other) // of no use
	}
	return r, nil, other
}

// compile compiles the sources of flights side by side. The policy is asked before; suspects are
// compiled one at a time.
func (c *Cache) compile(ctx context.Context, flights []*flight, done func(result)) {
	var together []*flight
	for _, f := range flights {
		f.answer = c.beforeMake(f.src)
		switch {
		case f.answer.may == refused:
			done(result{flight: f, err: f.answer.err})
		case f.answer.alone:
			c.compileMarked(ctx, []*flight{f}, true, done)
		default:
			together = append(together, f)
		}
	}
	if len(together) > 0 {
		c.compileMarked(ctx, together, false, done)
	}
}

// compileMarked has the device compile the sources of flights, and once more what ran out of
// memory, after it evicted every program without handles.
func (c *Cache) compileMarked(ctx context.Context, flights []*flight, alone bool, done func(result)) {
	defer c.guard.hold(alone)()
	for again := false; len(flights) > 0; again = true {
		sources := make([]*shader.Source, len(flights))
		for i, f := range flights {
			sources[i] = f.src
			c.guard.owner.store.Mark(binary.ActionCompile, f.src.Key(), f.src.Name())
		}
		var outOfMemory []result
		c.dev.Compile(ctx, sources, func(i int, program shader.Program, err error) {
			r := c.compiled(flights[i], program, err)
			if errors.Is(err, shader.ErrOutOfMemory) {
				outOfMemory = append(outOfMemory, r)
			} else {
				done(r)
			}
		})
		flights = nil
		for _, r := range outOfMemory {
			if c.freeMemory(r.flight); again {
				done(r)
			} else {
				flights = append(flights, r.flight)
			}
		}
	}
}

// compiled turns what the device returned for a flight into a result. A suspect that does not
// compile is none any more either: the process survived.
func (c *Cache) compiled(f *flight, program shader.Program, err error) result {
	c.guard.owner.store.Unmark(binary.ActionCompile, f.src.Key())
	if f.answer.alone && (err == nil || isCompileError(err)) {
		c.guard.clearSuspect(f.src.Key())
	}
	if err != nil {
		return result{flight: f, err: err}
	}
	if c.options.Tracer != nil {
		c.traceCompiled(f, program)
	}
	e := newEntry(f.src, program, job.Compiled, c.clock)
	e.readBack = !f.answer.unstored && c.formats && c.sourceOnly == "" && (!c.options.NoSave || c.options.KeepEvictedBytes > 0)
	return result{flight: f, entry: e}
}

// readBack reads the binary of a program that was compiled, drops the ownership
// that accept added for this, and queues the blob for the store. The program has
// been primed by now: it works.
func (c *Cache) readBack(ctx context.Context, e *entry) {
	var format uint32
	var payload []byte
	var err error
	// A suspect was survived when it was compiled.
	c.guard.during(binary.ActionRead, e.key, e.name, false, func() { format, payload, err = c.dev.Binary(ctx, e.program.ID) })
	e.drop(c.dev)
	c.checkStore("reading a program binary from the driver", err)
	if err != nil || len(payload) == 0 {
		e.claim.end()
		c.mu.Lock()
		c.setLost(err)
		c.finishTask()
		c.mu.Unlock()
		return
	}
	blob := &binary.Blob{
		Key:          e.key,
		Fingerprint:  c.driver,
		Format:       format,
		Payload:      payload,
		Name:         e.name,
		Created:      c.clock.wall(),
		CompileNanos: e.measured.CompileNanos,
		WorkGroup:    e.program.Interface.WorkGroup,
		Interface:    e.program.Interface.Digest(),
	}
	e.claim.make(blob)
	c.writeBlob(e, blob)
}
