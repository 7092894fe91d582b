package shadercache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/cache"
)

// historyPreload preloads what earlier starts asked for, beside the caller.
type historyPreload struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// startPreload starts it where the options have a time for it. A failure is a warning.
func startPreload(c *cache.Cache, o Options) *historyPreload {
	if o.FromHistory <= 0 || o.Cache.InTrial {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &historyPreload{cancel, make(chan struct{})}
	go func() {
		defer close(p.ended)
		_, err := c.PreloadHistory(ctx, cache.HistoryOptions{Budget: o.FromHistory}, nil)
		if err != nil && !errors.Is(err, context.Canceled) && o.Logger != nil {
			o.Logger.Warn("what earlier starts asked for was not preloaded", "reason", err)
		}
	}()
	return p
}

// stop ends a preload, and waits until it has.
func (p *historyPreload) stop() {
	if p != nil {
		p.cancel()
		<-p.ended
	}
}
