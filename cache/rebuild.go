package cache

import (
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// rebuildTogether is the default of RebuildOptions.Together: a Get that misses
// meanwhile waits for at most that many sources.
const rebuildTogether = 4

// RebuildOptions configure [Cache.Rebuild]. The zero value suits an application
// that compiles programs of its own meanwhile.
type RebuildOptions struct {
	// Limit is how many programs are compiled, the most used first. Default: 0,
	// all.
	Limit int

	// Together is how many sources the driver gets at a time. With more, it
	// compiles more of them side by side, and a Get that misses waits longer.
	// Default: 4.
	Together int

	// Progress is called with each result as soon as it is known, on the calling
	// goroutine; it must not call the cache. Default: none.
	Progress func(PreloadResult)
}

// Rebuild compiles the programs whose source the store has and whose blob it
// lacks, the most used first: after a driver update, everything that
// Options.KeepSources kept. It is meant for a goroutine beside the application's
// own work:
//
//	go c.Rebuild(ctx, cache.RebuildOptions{})
//
// The programs are stored and do not become resident, unless a Get requests them
// meanwhile; nothing is evicted. Without a store, with NoSave, or without kept
// sources, there is nothing to do.
//
// There is one result for each program, the most used first; among programs that
// were compiled together, those whose source cannot be read come first. A source
// that fails, or cannot be read, does not stop the others: its result has the
// error. Rebuild itself fails when ctx ends, the cache is closed, the GL context
// is lost, or the store cannot list what it lacks; then it returns the results so
// far. When it returns, everything that was compiled is stored.
func (c *Cache) Rebuild(ctx context.Context, o RebuildOptions) ([]PreloadResult, error) {
	if err := c.awaitBeforeFirst(ctx, &trace.Region{}); err != nil {
		return nil, fmt.Errorf("cache: rebuild: %w", err)
	}
	if c.options.NoSave {
		return nil, nil
	}
	missing, err := c.store.Missing()
	if err != nil {
		return nil, fmt.Errorf("cache: rebuild: %w", err)
	}
	if o.Limit > 0 {
		missing = missing[:min(o.Limit, len(missing))]
	}
	if o.Together <= 0 {
		o.Together = rebuildTogether
	}
	p := &preload{cache: c, ctx: ctx, index: map[*flight]int{}, storeOnly: true, progress: o.Progress}
	for batch := range slices.Chunk(missing, min(o.Together, preloadWindow)) {
		sources := p.readSources(batch)
		first := len(p.results)
		p.results = append(p.results, make([]PreloadResult, len(sources))...)
		p.window(first, sources)
		c.WaitStored()
		if err := p.stopped(); err != nil {
			return p.results, fmt.Errorf("cache: rebuild: %w", err)
		}
	}
	return p.results, nil
}

// readSources reads kept sources. It reports those that cannot be read.
func (p *preload) readSources(missing []binary.Entry) (sources []*shader.Source) {
	for _, m := range missing {
		src, err := p.cache.store.Source(m.Key)
		if err == nil {
			sources = append(sources, src)
			continue
		}
		p.results = append(p.results, PreloadResult{Name: m.Name, Key: m.Key})
		p.report(len(p.results)-1, nil, err)
	}
	return sources
}
