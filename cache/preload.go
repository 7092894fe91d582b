package cache

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// preloadWindow is how many sources are handled together: enough for the driver
// to compile side by side, few enough to keep short the wait of a Get for the
// last of them.
const preloadWindow = 64

// loaders is how many goroutines read blobs from the store and pass them to the
// driver. The driver loads one at a time; the others read ahead.
const loaders = 3

// PreloadResult is the result of preloading one source.
type PreloadResult struct {
	Name         string     `json:"name"`
	Key          shader.Key `json:"key"`
	Origin       job.Origin `json:"origin"`               // 0 when Err is set
	LoadNanos    int64      `json:"load_ns,omitempty"`    // glProgramBinary and its checks; 0 unless loaded
	PrimeNanos   int64      `json:"prime_ns,omitempty"`   // 0 for a program that was resident
	CompileNanos int64      `json:"compile_ns,omitempty"` // compile and link; 0 unless compiled
	Err          error      `json:"-"`
}

// Preload makes the programs of all sources resident, without handles. Those on
// disk are loaded; the misses are compiled side by side, 64 at a time. When not
// all of them fit, the later ones evict the earlier.
//
// The results are in the order of sources. progress, which may be nil, is called
// with each of them as soon as it is known, on the calling goroutine; it must
// not call the cache. A source that fails does not stop the others: its result
// has the error. Preload itself fails when ctx ends, the cache is closed or the
// GL context is lost; sources that were not reached have that error too. A panic of
// progress ends Preload too, once what it had started is ended.
func (c *Cache) Preload(ctx context.Context, sources []*shader.Source, progress func(PreloadResult)) ([]PreloadResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &preload{
		cache:    c,
		ctx:      ctx,
		cancel:   cancel,
		results:  make([]PreloadResult, len(sources)),
		index:    map[*flight]int{},
		progress: progress,
	}
	c.dev.Pending() // panics before anything is started
	region := trace.Begin(c.options.Tracer, trace.Requests, 0, trace.Preload)
	defer func() { region.End(trace.Int("programs", int64(len(sources)))) }()
	_ = c.awaitBeforeFirst(p.ctx, &region) // each source reports the end of ctx
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

// preload is one call of Preload or Rebuild.
type preload struct {
	cache     *Cache
	ctx       context.Context
	results   []PreloadResult
	index     map[*flight]int // of the result of each flight started here and not complete
	storeOnly bool            // see flight
	progress  func(PreloadResult)
	cancel    func() // ends ctx; nil: a panic of progress does not end it
	panicked  any    // what progress panicked with
}

// joined is a flight that another request completes, or an equal source of the same
// window.
type joined struct {
	index  int
	flight *flight
}

// stopped returns why the rest cannot be done, or nil.
func (p *preload) stopped() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	return p.cache.unusable()
}

// window preloads sources, whose first result is at index first.
func (p *preload) window(first int, sources []*shader.Source) {
	for i, src := range sources {
		if src != nil {
			p.results[first+i] = PreloadResult{Name: src.Name(), Key: src.Key()}
		}
	}
	started, others := p.start(first, sources)
	defer p.endUnwound()
	suspects, rest := p.startTrials(started)
	p.cache.make(p.ctx, p.load(rest), p.complete)
	p.cache.make(p.ctx, p.load(p.survivors(suspects)), p.complete)
	if p.cache.options.InTrial {
		p.cache.WaitStored()
	}
	for _, o := range others {
		err := p.cache.await(p.ctx, o.flight.done)
		if err == nil {
			err = errorFor(sources[o.index-first], o.flight.err)
		}
		p.report(o.index, nil, err)
	}
	if p.panicked != nil {
		panic(p.panicked)
	}
}

// endUnwound ends the flights that are still this preload's: progress called
// runtime.Goexit.
func (p *preload) endUnwound() {
	for f := range p.index {
		p.cache.endUnwound(f)
	}
	clear(p.index)
}

// start starts a flight for every source that is neither resident nor being
// loaded. Programs that are resident count as used now.
func (p *preload) start(first int, sources []*shader.Source) (started []*flight, others []joined) {
	own := map[shader.Key]*flight{} // a source may be listed twice
	for i, src := range sources {
		index := first + i
		if err := p.ctx.Err(); err != nil {
			p.report(index, nil, err)
			continue
		}
		if src == nil {
			p.report(index, nil, errNothing)
			continue
		}
		if f := own[src.Key()]; f != nil {
			others = append(others, joined{index, f})
			continue
		}
		f, mine, err := p.cache.requestResident(src, p.storeOnly)
		switch {
		case err != nil || f == nil:
			p.report(index, nil, err)
		case mine:
			p.index[f] = index
			own[src.Key()] = f
			started = append(started, f)
		default:
			others = append(others, joined{index, f})
		}
	}
	return started, others
}

// requestResident adds a watcher to the flight of src, or starts the flight and
// reports that it did. No flight means that the program is resident.
func (c *Cache) requestResident(src *shader.Source, storeOnly bool) (f *flight, started bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, started, err = c.join(src, storeOnly)
	switch {
	case err != nil:
		return nil, false, err
	case f == nil:
		c.mu.resident.find(src.Key()).shares[0].lastUse.Store(c.clock.elapsed())
	case !started:
		f.watchers++
	}
	return f, started, nil
}

// startTrials starts the trials of the suspects among flights, which run while the others
// are loaded and compiled.
func (p *preload) startTrials(flights []*flight) (suspects map[*flight]*trial, rest []*flight) {
	suspects = map[*flight]*trial{}
	for _, f := range flights {
		if f.answer = p.cache.beforeFind(f.src, false); f.answer.may == onlyApart {
			suspects[f] = p.cache.guard.startTrial(f.src)
		} else {
			rest = append(rest, f)
		}
	}
	return suspects, rest
}

// survivors waits for trials, and returns the flights that may go on.
func (p *preload) survivors(suspects map[*flight]*trial) (flights []*flight) {
	for f, t := range suspects {
		if err := p.cache.await(p.ctx, t.done); err != nil {
			p.complete(result{flight: f, err: err})
			continue
		}
		f.answer = p.cache.beforeFind(f.src, true)
		flights = append(flights, f)
	}
	return flights
}

// load completes the flights whose blobs can be loaded, in the order in which
// they are ready, and returns the others.
func (p *preload) load(flights []*flight) (missed []*flight) {
	results := make(chan result, len(flights))
	var next atomic.Int64
	for range min(loaders, len(flights)) {
		p.cache.background.Go(func() {
			for i := int(next.Add(1) - 1); i < len(flights); i = int(next.Add(1) - 1) {
				results <- p.loadOne(flights[i])
			}
		})
	}
	for range flights {
		var r result
		p.cache.dev.PollWhile(func() { r = <-results })
		if r.missed() {
			missed = append(missed, r.flight)
		} else {
			p.complete(r)
		}
	}
	slices.SortFunc(missed, func(a, b *flight) int { return p.index[a] - p.index[b] })
	return missed
}

func (p *preload) loadOne(f *flight) result {
	if err := p.ctx.Err(); err != nil {
		return result{flight: f, err: err}
	}
	return p.cache.fromBinary(p.ctx, f)
}

// complete completes a flight and reports its result. One that failed because
// this preload was cancelled is abandoned: others may wait for it.
func (p *preload) complete(r result) {
	c, index := p.cache, p.index[r.flight]
	delete(p.index, r.flight)
	if r.err != nil && p.ctx.Err() != nil {
		c.abandon(context.WithoutCancel(p.ctx), r.flight, r.err)
		p.report(index, nil, r.err)
		return
	}
	err := c.complete(r)
	p.report(index, r.entry, err)
}

// report sets a result and passes it to progress. Without an entry or an error
// the program was resident.
func (p *preload) report(index int, e *entry, err error) {
	r := &p.results[index]
	switch {
	case err != nil:
		r.Err = getError(r.Name, err)
	case e == nil:
		r.Origin = job.Resident
	default:
		r.Origin = e.origin
		r.LoadNanos = e.program.LoadNanos
		r.PrimeNanos = e.program.PrimeNanos
		r.CompileNanos = e.program.CompileNanos
	}
	p.notify(*r)
}

// notify calls progress. After a panic, which must not leave loads in flight, the rest
// is cancelled, and window panics with the same value.
func (p *preload) notify(r PreloadResult) {
	if p.progress == nil || p.panicked != nil {
		return
	}
	defer func() {
		p.panicked = recover()
		if p.panicked != nil && p.cancel != nil {
			p.cancel()
		}
	}()
	p.progress(r)
}
