package cache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// compileLoad completes l by compiling, and has the new binary stored.
func (c *Cache) compileLoad(ctx context.Context, l *load) {
	var r result
	c.compileOrWait(ctx, []*load{l}, func(compiled result) { r = compiled }, func() {})
	if r.needsRecheck() {
		r = c.recheck(ctx, r)
	}
	c.complete(r)
	if r.err == nil {
		c.readBack(ctx, r.entry)
	}
}

// compile compiles the sources of loads and calls done with each result as soon as there
// is one, on the calling goroutine. With Options.ShareCompiles, results may be loaded from
// what another process compiled meanwhile.
func (c *Cache) compile(ctx context.Context, loads []*load, done func(result)) {
	if c.sharesCompiles() {
		c.compileShared(ctx, loads, done)
	} else {
		c.compileAll(ctx, loads, done)
	}
}

// compileAll compiles the sources of loads side by side. Sources that are quarantined or
// known to fail do not reach the device; suspects are compiled one at a time.
func (c *Cache) compileAll(ctx context.Context, loads []*load, done func(result)) {
	var together []*load
	for _, l := range loads {
		l.answer = c.beforeMake(l.src)
		switch {
		case l.answer.may == refused:
			done(result{load: l, err: l.answer.err})
		case l.answer.alone:
			c.compileWithRetry(ctx, []*load{l}, true, done)
		default:
			together = append(together, l)
		}
	}
	if len(together) > 0 {
		c.compileWithRetry(ctx, together, false, done)
	}
}

// compileWithRetry compiles again what ran out of memory, after it evicted every
// program without handles.
func (c *Cache) compileWithRetry(ctx context.Context, loads []*load, suspect bool, done func(result)) {
	c.guard.begin(suspect)
	defer c.guard.end(suspect)
	var again []*load
	for _, r := range c.compileBatch(ctx, loads, done) {
		again = append(again, r.load)
	}
	if len(again) == 0 {
		return
	}
	c.freeMemory(len(again))
	for _, r := range c.compileBatch(ctx, again, done) {
		c.freeMemory(1)
		done(r)
	}
}

// compileBatch has the device compile the sources of loads. It returns the
// results that ran out of memory and calls done with the others.
func (c *Cache) compileBatch(ctx context.Context, loads []*load, done func(result)) (outOfMemory []result) {
	sources := make([]*shader.Source, len(loads))
	for i, l := range loads {
		sources[i] = l.src
	}
	c.guard.markAll(binary.ActionCompile, sources...)
	c.dev.Compile(ctx, sources, func(i int, program shader.Program, err error) {
		r := c.compiled(loads[i], program, err)
		if errors.Is(err, shader.ErrOutOfMemory) {
			outOfMemory = append(outOfMemory, r)
			return
		}
		done(r)
	})
	return outOfMemory
}

// compiled turns what the device returned for a load into a result. A compile
// error clears a suspect too: the process survived.
func (c *Cache) compiled(l *load, program shader.Program, err error) result {
	c.guard.unmark(binary.ActionCompile, l.src)
	if err == nil || isCompileError(err) {
		c.guard.clearSuspect(l.src.Key())
	}
	if err != nil {
		return result{load: l, err: err}
	}
	c.traceCompiled(l, program)
	e := newEntry(l.src, program, job.Compiled, c.clock)
	e.storable = !l.answer.unstored
	return result{load: l, entry: e}
}

// readBinary reads the binary of a program from the driver.
func (c *Cache) readBinary(ctx context.Context, e *entry) (format uint32, payload []byte, err error) {
	c.guard.begin(false) // a suspect was survived when it was compiled
	defer c.guard.end(false)
	c.guard.marks().Mark(binary.ActionRead, e.key, e.name)
	defer c.guard.marks().Unmark(binary.ActionRead, e.key)
	return c.dev.Binary(ctx, e.program.ID)
}
