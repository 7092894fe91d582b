//go:build linux

package glctx

import "sync"

// PollWhile calls wait, which waits for something that this context has to do. On the
// thread of an adopted context wait runs on a goroutine of its own, and PollWhile polls
// meanwhile. Inside a callback it panics, as Work does.
func (c *Context) PollWhile(wait func()) {
	work := c.Pending()
	if work == nil {
		wait()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	for {
		select {
		case <-done:
			return
		case <-work:
			c.Poll()
		}
	}
}

// Mutex is a sync.Mutex that is held by those who wait for a context's work. On the
// thread of an adopted context, whoever waits for the holder does that work
// meanwhile. Of is that context, and set before Lock is called.
type Mutex struct {
	sync.Mutex
	Of *Context
}

// Lock locks m. Where it has to wait inside a callback, it panics.
func (m *Mutex) Lock() {
	if !m.TryLock() {
		m.Of.PollWhile(m.Mutex.Lock)
	}
}
