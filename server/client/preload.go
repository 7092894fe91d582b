//go:build linux

package client

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// preloadSessions is the number of sessions that Preload uses: one on a server loads its
// programs one after the other.
const preloadSessions = 8

// Preloaded is what became of one source of a Preload.
type Preloaded struct {
	Index   int         // of the source
	Program job.Program // released when done returns; nil after an error
	Took    time.Duration
	Err     error
}

// Preload makes programs resident, several at a time. It uses further sessions for that, as
// many as the server admits. It calls done for each source, one call at a time, in the order
// in which they end. Where ctx or a session ends it returns why, and done was not called for
// the rest.
func (c *Client) Preload(ctx context.Context, sources []*shader.Source, done func(Preloaded)) error {
	p := &preload{sources: sources, done: done}
	var all sync.WaitGroup
	for i := range min(preloadSessions, len(sources)) {
		all.Go(func() {
			session := c
			if i > 0 {
				var err error
				if session, err = dial(ctx, Options{Path: c.options.Path, Name: c.options.Name, Device: strconv.Itoa(c.welcome.Number)}); err != nil {
					return // the others do its part
				}
				defer session.Close()
			}
			p.run(ctx, session)
		})
	}
	all.Wait()
	return p.ended
}

// preload is a Preload that runs.
type preload struct {
	sources []*shader.Source
	done    func(Preloaded)

	mu    sync.Mutex // held while done runs
	next  int
	ended error
}

// run loads sources until none is left.
func (p *preload) run(ctx context.Context, c *Client) {
	for i, ok := p.take(); ok; i, ok = p.take() {
		start := time.Now()
		program, err := c.Get(ctx, p.sources[i])
		p.finish(Preloaded{i, program, time.Since(start), err}, err != nil && (ctx.Err() != nil || c.Err() != nil))
	}
}

// take returns the index of the next source.
func (p *preload) take() (i int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil || p.next == len(p.sources) {
		return 0, false
	}
	p.next++
	return p.next - 1, true
}

func (p *preload) finish(r Preloaded, ends bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ends {
		p.ended = r.Err
		return
	}
	p.done(r)
	if r.Program != nil {
		r.Program.Release()
	}
}
