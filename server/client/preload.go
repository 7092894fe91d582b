//go:build linux

package client

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// preloadSessions is the number of sessions that Preload uses: one on a server loads its
// programs one after the other. preloadWorkers is the number of workers of a server that may
// end while one source is loaded.
const (
	preloadSessions = 8
	preloadWorkers  = 4
)

// Preloaded is what became of one source of a Preload.
type Preloaded struct {
	Index   int         // of the source
	Program job.Program // released when done returns; nil after an error
	Took    time.Duration
	Err     error
}

// Preload makes programs resident, several at a time. It uses further sessions for that, as
// many as the server admits. It calls done for each source, one call at a time, in the order
// in which they end. Where the server's worker ends, because the driver crashed, it goes on
// with the next one, although c has ended: what was resident is in the server's cache then.
// Where ctx or a session ends it returns why, and done was not called for the rest.
func (c *Client) Preload(ctx context.Context, sources []*shader.Source, done func(Preloaded)) error {
	p := &preload{client: c, sources: sources, done: done}
	var all sync.WaitGroup
	for i := range min(preloadSessions, len(sources)) {
		all.Go(func() {
			session, err := c, error(nil)
			if i > 0 {
				if session, err = dial(ctx, p.options()); err != nil {
					return // the others do its part
				}
			}
			p.run(ctx, session)
		})
	}
	all.Wait()
	return p.ended
}

// preload is a Preload that runs.
type preload struct {
	client  *Client // whose Preload it is, and who closes it
	sources []*shader.Source
	done    func(Preloaded)

	mu    sync.Mutex // held while done runs
	next  int
	ended error
}

// options are those of further sessions.
func (p *preload) options() Options {
	return Options{Path: p.client.options.Path, Name: p.client.options.Name, Device: strconv.Itoa(p.client.welcome.Number)}
}

// run loads sources until none is left, by a session that it closes.
func (p *preload) run(ctx context.Context, c *Client) {
	for i, ok := p.take(); ok; i, ok = p.take() {
		start := time.Now()
		program, err := c.Get(ctx, p.sources[i])
		for ended := 0; err != nil && ctx.Err() == nil && errors.Is(c.Err(), ErrServerGone) && ended < preloadWorkers; ended++ {
			next, failed := Dial(ctx, p.options())
			if failed != nil {
				break
			}
			p.close(c)
			c = next
			program, err = c.Get(ctx, p.sources[i])
		}
		p.finish(Preloaded{i, program, time.Since(start), err}, err != nil && (ctx.Err() != nil || c.Err() != nil))
	}
	p.close(c)
}

func (p *preload) close(c *Client) {
	if c != p.client {
		c.Close()
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
