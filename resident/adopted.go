//go:build linux

package resident

import "github.com/shadercache/shadercache/glctx"

// serving is wait(), which waits for what c has to do. On the thread of an adopted
// context nobody else can do that, so wait runs beside it there.
func serving[T any](c *glctx.Context, wait func() T) T {
	work := c.Work()
	if work == nil {
		return wait()
	}
	done := make(chan T, 1)
	go func() { done <- wait() }()
	for {
		select {
		case v := <-done:
			return v
		case <-work:
			c.Poll()
		}
	}
}
