//go:build linux

package glctx_test

import (
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestDownloadKeepsAnEarlierError(t *testing.T) {
	c := gltest.Open(t)
	err := c.Do(func(gl *glctx.GL) error {
		b, err := gl.NewBuffer(8, []byte{1, 2, 3, 4, 5, 6, 7, 8})
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(b)
		gl.UseProgram(987654) // there is no such program
		got := make([]byte, 3)
		gl.Download(b, 2, got)
		if string(got) != "\x03\x04\x05" {
			t.Errorf("got %v", got)
		}
		if gl.Err() == nil {
			t.Error("the error is gone")
		}
		return gl.Err()
	})
	if err != nil {
		t.Error(err)
	}
	if n := c.Counters(); n.Buffers != 0 || n.Readbacks != 1 {
		t.Errorf("counters are %+v", n)
	}
}
