//go:build linux

package glctx_test

import (
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestGPUMemory(t *testing.T) {
	c := gltest.Open(t)
	total, free := c.GPUMemory()
	info := c.Info()
	switch {
	case info.Software():
		if total != 0 || free != 0 {
			t.Errorf("a software driver, which has no memory of a GPU: total %d, free %d", total, free)
		}
	case info.Has("GL_NVX_gpu_memory_info"):
		if free <= 0 || total < free {
			t.Errorf("total %d, free %d", total, free)
		}
	case info.Has("GL_ATI_meminfo"):
		if free <= 0 || total != 0 {
			t.Errorf("total %d, free %d", total, free)
		}
	default:
		if total != 0 || free != 0 {
			t.Errorf("a driver that does not say: total %d, free %d", total, free)
		}
	}
	if err := c.Do(func(gl *glctx.GL) error { return gl.Err() }); err != nil {
		t.Error("a query raised", err)
	}
	closed := gltest.Open(t)
	if err := closed.Close(); err != nil {
		t.Error(err)
	}
	if total, free := closed.GPUMemory(); total != 0 || free != 0 {
		t.Errorf("after Close: %d, %d", total, free)
	}
}
