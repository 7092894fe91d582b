//go:build linux

package resident

import "github.com/shadercache/shadercache/glctx"

// serving is wait(), which waits for what c has to do: see glctx.Context.PollWhile.
func serving[T any](c *glctx.Context, wait func() T) (v T) {
	c.PollWhile(func() { v = wait() })
	return v
}
