package cache

import "context"

// Poller is what a Device has that may work on a thread of its caller's, as the
// *glctx.Context of glctx.Adopt does. Whoever waits on that thread has to do the
// device's work meanwhile, because nobody else can.
type Poller interface {
	// Pending is asked by those who are about to begin what they will wait for. It
	// panics where the wait would never end. On the device's thread it returns a
	// channel that receives when there is work, anywhere else nil.
	Pending() <-chan struct{}

	// PollWhile calls wait, which waits for the device, and where nobody else can
	// does the device's work meanwhile. It panics as Work does.
	PollWhile(wait func())
}

// mayWait panics where a wait for the device would never end. It is asked before
// anything is begun.
func (c *Cache) mayWait() {
	if c.poller != nil {
		c.poller.Pending()
	}
}

// serve runs wait, which waits for the device, or for others who use it.
func (c *Cache) serve(wait func()) {
	if c.poller == nil {
		wait()
		return
	}
	c.poller.PollWhile(wait)
}

// await returns nil when f has landed, or ctx.Err().
func (c *Cache) await(ctx context.Context, f *flight) (err error) {
	c.serve(func() {
		select {
		case <-f.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	})
	return err
}
