//go:build linux

package glctx_test

import (
	"errors"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// TestEndEGL: EGL ends with the last context, and not under another one; it starts
// again with the next.
func TestEndEGL(t *testing.T) {
	gltest.Open(t).Close() // skips, or fails, where there is no driver
	open := func() *glctx.Context {
		c, err := glctx.Open(glctx.Options{EndEGL: true, DriverCacheOff: true})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	works := func(c *glctx.Context) {
		t.Helper()
		want := []uint32{1, 2, 3}
		got := make([]uint32, len(want))
		err := c.Do(func(gl *glctx.GL) error {
			b, err := gl.NewBuffer(4*len(want), glctx.Bytes(want))
			if err != nil {
				return err
			}
			defer gl.DeleteBuffer(b)
			gl.Download(b, 0, glctx.Bytes(got))
			return gl.Err()
		})
		if err != nil || got[2] != 3 {
			t.Errorf("got %v, %v", got, err)
		}
	}
	for range 2 {
		first, second := open(), open()
		works(first)
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		works(second)
		if err := errors.Join(second.Close(), second.Close()); err != nil {
			t.Error(err)
		}
	}
}
