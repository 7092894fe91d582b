package cache

import (
	"context"
	"sync"
)

// beforeFirst is the one call of Options.BeforeFirst.
type beforeFirst struct {
	start sync.Once
	ended chan struct{}
}

// awaitBeforeFirst starts Options.BeforeFirst, if no request did before, and waits until
// it returns or ctx ends. Every request calls it before it looks for a program that is not
// resident, without a lock.
func (c *Cache) awaitBeforeFirst(ctx context.Context) error {
	if c.options.BeforeFirst == nil {
		return nil
	}
	f := &c.first
	f.start.Do(func() {
		f.ended = make(chan struct{})
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.mu.closed {
			close(f.ended) // the request fails by itself
			return
		}
		c.background.Go(func() {
			defer close(f.ended)
			c.options.BeforeFirst()
		})
	})
	select {
	case <-f.ended: // most often: no other goroutine is needed
		return nil
	default:
	}
	c.dev.PollWhile(func() {
		select {
		case <-f.ended:
		case <-ctx.Done():
		}
	})
	select {
	case <-f.ended:
		return nil
	default:
		return ctx.Err()
	}
}
