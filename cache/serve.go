package cache

import "context"

// Poller is what a Device has that may work on a thread of its caller's, as the
// *glctx.Context of glctx.Adopt does. Whoever waits on that thread has to do the
// device's work meanwhile, because nobody else can.
type Poller interface {
	// Work is asked by those who are about to wait for the device. On the
	// device's thread it returns a channel that receives when Poll has something
	// to do, anywhere else nil. It panics where the wait would never end.
	Work() <-chan struct{}

	// Poll does what there is to do.
	Poll() int
}

// work is Poller.Work, nil for a device that needs no help.
func (c *Cache) work() <-chan struct{} {
	if c.poller == nil {
		return nil
	}
	return c.poller.Work()
}

// await returns nil when f has landed, or ctx.Err().
func (c *Cache) await(ctx context.Context, f *flight, work <-chan struct{}) error {
	for {
		select {
		case <-f.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-work:
			c.poller.Poll()
		}
	}
}

// receive is <-from.
func receive[T any](c *Cache, from <-chan T) T {
	for work := c.work(); ; {
		select {
		case v := <-from:
			return v
		case <-work:
			c.poller.Poll()
		}
	}
}

// serve runs wait, which waits for others who use the device.
func (c *Cache) serve(wait func()) {
	work := c.work()
	if work == nil {
		wait()
		return
	}
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	for {
		select {
		case <-done:
			return
		case <-work:
			c.poller.Poll()
		}
	}
}
