package cache

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// The tasks of the writes lane: one goroutine writes blobs, and one at a time records.
const (
	writeTask uint64 = math.MaxUint64 - iota
	recordTask
)

// awaitTraced is await within the region of a Get. A flight that is complete is not waited
// for.
func (c *Cache) awaitTraced(ctx context.Context, f *flight, get *trace.Region) error {
	if isClosed(f.done) {
		return nil
	}
	region := get.Begin(trace.Wait)
	defer region.End()
	return c.await(ctx, f.done)
}

// endGet ends the region of a traced Get with where its program came from, or why there is
// none.
func endGet(get *trace.Region, got *Handle, err error) {
	if err != nil {
		get.End(trace.String("error", err.Error()))
	} else {
		get.End(trace.String("origin", got.origin.String()))
	}
}

// endLoad ends the region of a traced load with its outcome.
func endLoad(region *trace.Region, r result, b found) {
	outcome := "loaded"
	switch {
	case r.err != nil:
		outcome = r.err.Error()
	case b.blob == nil:
		outcome = cmp.Or(string(r.flight.answer.source), "not stored")
	case r.entry == nil:
		outcome = "rejected"
	}
	region.End(trace.String("outcome", outcome), trace.String("origin", b.origin.String()))
}

// traceCompiled gives the tracer the compile of a program, which has just ended: compiles
// side by side have no region of their own.
func (c *Cache) traceCompiled(f *flight, program shader.Program) {
	took := time.Duration(program.CompileNanos + program.PrimeNanos)
	c.options.Tracer.Event(trace.Event{
		Lane: trace.Loads, Task: trace.NewTask(), Name: trace.Compile,
		Program: f.src.Name(), Key: f.src.Key().String(),
		Begin: time.Now().Add(-took), Took: took,
		Attrs: []trace.Attr{
			trace.Int("compile_ns", program.CompileNanos), trace.Int("prime_ns", program.PrimeNanos),
		},
	})
}

// watchUse has the first use of a program that a preload made traced, and recorded. The
// caller holds mu.
func (c *Cache) watchUse(r result) {
	if c.options.Tracer == nil && c.history == nil {
		return
	}
	src := r.flight.src
	r.entry.firstUse = func(e *entry) {
		trace.Instant(c.options.Tracer, trace.Requests, trace.FirstUse, e.name, e.key.String())
		if c.history != nil {
			c.history.add(src, c.clock.wall())
		}
	}
}

// traceEvicted gives the tracer the programs that were evicted. The caller holds mu.
func (c *Cache) traceEvicted(evicted []*entry) {
	for _, e := range evicted {
		trace.Instant(c.options.Tracer, trace.Writes, trace.Evict, e.name, e.key.String())
		c.traceUnused(e)
	}
}

// traceUnused gives the tracer a program that was preloaded for nothing.
func (c *Cache) traceUnused(e *entry) {
	if e.firstUse != nil && !e.used.Load() && !c.options.FillOnly {
		trace.Instant(c.options.Tracer, trace.Requests, trace.Unused, e.name, e.key.String())
	}
}
