package cache

import (
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// rebuildTogether is how many sources Rebuild gives the driver at a time where
// nothing else is wanted: a Get that misses meanwhile waits for no more of them.
const rebuildTogether = 4

// RebuildOptions configure [Cache.Rebuild]. The zero value suits an application
// that is at work.
type RebuildOptions struct {
	// Limit is how many programs are made, the most used first. Default: 0, all.
	Limit int

	// Together is how many sources the driver gets at a time. More let it compile
	// more of them side by side, and let a Get that misses wait for longer.
	// Default: 4.
	Together int

	// Progress gets each result as soon as it is known, on the calling goroutine;
	// it must not call the cache. Default: none.
	Progress func(PreloadResult)
}

// Refiller is what a Store has that knows which programs it lacks.
// *binary.Store has it.
type Refiller interface {
	// Missing lists the programs that are not stored and whose source is kept,
	// the most used first.
	Missing() ([]binary.MissingProgram, error)

	// Source reads such a source.
	Source(key shader.Key) (*Source, error)
}

// Rebuild compiles for the store what it lacks and has the source of, the most
// used first: after a driver update that is everything that Options.KeepSources
// kept. It is made to run beside the application's own work, on a goroutine of
// its own, from start on:
//
//	go c.Rebuild(ctx, cache.RebuildOptions{})
//
// What it makes goes to the disk and does not stay resident, unless a Get asks
// for it meanwhile; it evicts nothing. Without a store, or without kept sources,
// there is nothing to do.
//
// There is one result a program, the most used first; among those that were given
// to the driver together, one that cannot be read comes first. A source that
// fails, or cannot be read, does not stop the others: its result has the error.
// Rebuild itself fails when ctx ends, the cache is closed, the GL context is lost,
// or the store cannot tell what it lacks; then the results are those that are
// known. When it returns, everything that was made is stored.
func (c *Cache) Rebuild(ctx context.Context, o RebuildOptions) ([]PreloadResult, error) {
	refiller, ok := c.store.(Refiller)
	if !ok || c.store == nil {
		return nil, nil
	}
	c.recover() // what killed a process is not missing
	missing, err := refiller.Missing()
	if err != nil {
		return nil, fmt.Errorf("cache: rebuild: %w", err)
	}
	if o.Limit > 0 {
		missing = missing[:min(o.Limit, len(missing))]
	}
	if o.Together <= 0 {
		o.Together = rebuildTogether
	}
	p := &preload{cache: c, ctx: ctx, at: map[*flight]int{}, passing: true, progress: o.Progress}
	for batch := range slices.Chunk(missing, min(o.Together, preloadWindow)) {
		sources := p.read(refiller, batch)
		first := len(p.results)
		p.results = append(p.results, make([]PreloadResult, len(sources))...)
		p.window(first, sources)
		clear(p.at)
		c.waitStored()
		if err := p.stopped(); err != nil {
			return p.results, fmt.Errorf("cache: rebuild: %w", err)
		}
	}
	return p.results, nil
}

// read reads sources that are kept. One that cannot be read has its result now.
func (p *preload) read(from Refiller, missing []binary.MissingProgram) (sources []*Source) {
	for _, m := range missing {
		src, err := from.Source(m.Key)
		if err == nil {
			sources = append(sources, src)
			continue
		}
		p.results = append(p.results, PreloadResult{Name: m.Name, Key: m.Key})
		p.settle(len(p.results)-1, nil, err)
	}
	return sources
}

// waitStored waits until the store knows everything that it has to learn.
func (c *Cache) waitStored() {
	c.serve(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for c.mu.unstored > 0 {
			c.mu.quiet.Wait()
		}
	})
}
