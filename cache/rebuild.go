package cache

import (
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// rebuildTogether is how many sources the driver gets at a time. With more it compiles more of
// them side by side, and a Get that misses meanwhile waits longer.
const rebuildTogether = 4

// Rebuild compiles the programs whose source the store has and whose blob it
// lacks, the most used first: after a driver update, everything that
// Options.KeepSources kept. It is meant for a goroutine beside the application's
// own work:
//
//	go c.Rebuild(ctx, nil)
//
// The programs are stored and do not become resident, unless a Get requests them
// meanwhile; nothing is evicted. Without a store, with NoSave, or without kept
// sources, there is nothing to do.
//
// progress, unless it is nil, is called with each result as soon as it is known, on the calling
// goroutine; it must not call the cache. There is one result for each program, the most used first; among programs that
// were compiled together, those whose source cannot be read come first. A source
// that fails, or cannot be read, does not stop the others: its result has the
// error. Rebuild itself fails when ctx ends, the cache is closed, the GL context
// is lost, or the store cannot list what it lacks; then it returns the results so
// far. When it returns, everything that was compiled is stored.
func (c *Cache) Rebuild(ctx context.Context, progress func(PreloadResult)) ([]PreloadResult, error) {
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
	p := &preload{cache: c, ctx: ctx, index: map[*flight]int{}, storeOnly: true, progress: progress}
	for batch := range slices.Chunk(missing, rebuildTogether) {
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
