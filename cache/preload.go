package cache

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// preloadWindow is how many sources are handled together: enough for the driver
// to compile side by side, few enough that a Get for the last of them does not
// wait for long.
const preloadWindow = 64

// loaders is how many blobs are on their way from the store to the driver at a
// time. The driver takes one at a time; the others keep it from waiting.
const loaders = 3

// PreloadResult says what preloading did for one source.
type PreloadResult struct {
	Name         string
	Key          shader.Key
	Origin       Origin // 0 when Err is set
	LoadNanos    int64  // glProgramBinary and its checks; 0 unless loaded
	PrimeNanos   int64  // 0 for a program that was resident
	CompileNanos int64  // compile and link; 0 unless compiled
	Err          error
}

// Preload makes the programs of all sources resident, without handles. Those on
// disk are loaded; the misses are compiled side by side, 64 at a time. When
// more are asked for than fit, the later ones evict the earlier.
//
// The results stand in the order of sources. progress, which may be nil, gets
// each one as soon as it is known, on the calling goroutine; it must not call
// the cache. A source that fails does not stop the others: its result has the
// error. Preload itself fails when ctx ends, the cache is closed or the GL
// context is lost; sources that were not reached have that error too.
func (c *Cache) Preload(ctx context.Context, sources []*Source, progress func(PreloadResult)) ([]PreloadResult, error) {
	p := &preload{
		cache:    c,
		ctx:      ctx,
		results:  make([]PreloadResult, len(sources)),
		at:       map[*flight]int{},
		progress: progress,
	}
	c.mayWait()
	first := 0
	for window := range slices.Chunk(sources, min(preloadWindow, c.options.MaxPrograms)) {
		p.window(first, window)
		first += len(window)
	}
	if err := p.stopped(); err != nil {
		return p.results, fmt.Errorf("cache: preload: %w", err)
	}
	return p.results, nil
}

// preload is one call of Preload.
type preload struct {
	cache    *Cache
	ctx      context.Context
	results  []PreloadResult
	begun    map[shader.Key]*flight // of this window
	at       map[*flight]int        // index of the result of each flight begun here
	compiled []*entry               // of this window, to be fetched
	passing  bool                   // for the store alone: see flight
	progress func(PreloadResult)
}

// boarding is a source whose program another request is making.
type boarding struct {
	index  int
	flight *flight
}

// stopped is why the rest cannot be done, or nil.
func (p *preload) stopped() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	return p.cache.refusal()
}

// window preloads sources, whose first result is at index first.
func (p *preload) window(first int, sources []*Source) {
	for i, src := range sources {
		if src != nil {
			p.results[first+i] = PreloadResult{Name: src.Name(), Key: src.Key()}
		}
	}
	begun, boarded := p.begin(first, sources)
	if len(begun) > 0 {
		p.compile(p.load(begun))
	}
	for _, b := range boarded {
		err := p.cache.await(p.ctx, b.flight)
		if err == nil {
			err = b.flight.err
		}
		p.settle(b.index, nil, err)
	}
}

// begin begins a flight for every source that nobody else takes care of.
// Programs that are resident count as used now.
func (p *preload) begin(first int, sources []*Source) (begun []*flight, boarded []boarding) {
	p.begun = map[shader.Key]*flight{}
	for i, src := range sources {
		index := first + i
		if err := p.ctx.Err(); err != nil {
			p.settle(index, nil, err)
			continue
		}
		if src == nil {
			p.settle(index, nil, errNothing)
			continue
		}
		if f := p.begun[src.Key()]; f != nil {
			boarded = append(boarded, boarding{index, f})
			continue
		}
		f, mine, err := p.cache.board(src, p.passing)
		switch {
		case err != nil || f == nil:
			p.settle(index, nil, err)
		case mine:
			p.at[f] = index
			p.begun[src.Key()] = f
			begun = append(begun, f)
		default:
			boarded = append(boarded, boarding{index, f})
		}
	}
	return begun, boarded
}

// board returns the flight of a program, and whether the caller began it and
// has to land it; no flight means that the program is resident.
func (c *Cache) board(src *Source, passing bool) (f *flight, mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusal(); err != nil {
		return nil, false, err
	}
	if e := c.mu.resident.find(src.Key()); e != nil {
		e.shares[0].lastUse.Store(c.clock.elapsed())
		return nil, false, nil
	}
	if f := c.mu.flights[src.Key()]; f != nil {
		f.watchers++
		return f, false, nil
	}
	if err := c.knownFailure(src.Key()); err != nil {
		return nil, false, err
	}
	f, err = c.takeOff(src, passing)
	return f, true, err
}

// loaded is what became of the blob of flights[index]. Without an entry and an
// error the source has to be compiled.
type loaded struct {
	index int
	entry *entry
	blob  *binary.Blob
	err   error
}

// load lands the flights whose blobs can be loaded, in the order in which they
// are, and returns the others.
func (p *preload) load(flights []*flight) (misses []*flight) {
	p.cache.recover()
	outcomes := make(chan loaded, len(flights))
	var next atomic.Int64
	for range min(loaders, len(flights)) {
		p.cache.background.Go(func() {
			for i := int(next.Add(1) - 1); i < len(flights); i = int(next.Add(1) - 1) {
				outcomes <- p.loadOne(i, flights[i])
			}
		})
	}
	missed := make([]bool, len(flights))
	for range flights {
		var o loaded
		p.cache.serve(func() { o = <-outcomes })
		if missed[o.index] = o.entry == nil && o.err == nil; !missed[o.index] {
			p.land(flights[o.index], o.entry, o.blob, o.err)
		}
	}
	for i, f := range flights {
		if missed[i] {
			misses = append(misses, f)
		}
	}
	return misses
}

func (p *preload) loadOne(index int, f *flight) loaded {
	if err := p.ctx.Err(); err != nil {
		return loaded{index: index, err: err}
	}
	found := p.cache.find(f.src)
	e, err := p.cache.reload(p.ctx, f.src, found)
	return loaded{index, e, found.blob, err}
}

// compile lands flights by compiling, and has the new binaries stored in the
// background.
func (p *preload) compile(flights []*flight) {
	if len(flights) == 0 {
		return
	}
	c := p.cache
	c.compile(p.ctx, flights, func(f *flight, e *entry, err error) {
		p.land(f, e, nil, err)
	})
	compiled := p.compiled
	p.compiled = nil
	if len(compiled) == 0 {
		return
	}
	c.background.Go(func() {
		for _, e := range compiled {
			c.fetch(context.WithoutCancel(p.ctx), e)
		}
	})
}

// land lands a flight and settles its result. When this preload was called off,
// those who wait for the flight must not suffer: it flies on without us.
func (p *preload) land(f *flight, e *entry, blob *binary.Blob, err error) {
	c := p.cache
	if err != nil && p.ctx.Err() != nil {
		c.abandon(context.WithoutCancel(p.ctx), f, err)
		p.settle(p.at[f], nil, err)
		return
	}
	c.land(f, e, blob, err)
	if err == nil && c.fetches(e) {
		p.compiled = append(p.compiled, e)
	}
	p.settle(p.at[f], e, f.err)
}

// settle writes a result and reports it. Without an entry or error the program
// was there.
func (p *preload) settle(index int, e *entry, err error) {
	r := &p.results[index]
	switch {
	case err != nil:
		r.Err = getError(r.Name, err)
	case e == nil:
		r.Origin = Resident
	default:
		r.Origin = e.origin
		r.LoadNanos = e.program.LoadNanos
		r.PrimeNanos = e.program.PrimeNanos
		r.CompileNanos = e.program.CompileNanos
	}
	if p.progress != nil {
		p.progress(*r)
	}
}
