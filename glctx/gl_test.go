//go:build linux

package glctx_test

import (
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// BenchmarkCall measures a GL call through cgo that does nothing: glGetError.
func BenchmarkCall(b *testing.B) {
	c := gltest.Open(b)
	err := c.Do(func(gl *glctx.GL) error {
		for b.Loop() {
			if err := gl.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Error(err)
	}
}
