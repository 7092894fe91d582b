package glctx

import (
	"fmt"

	"github.com/shadercache/shadercache/glctx/internal/gl45"
)

// Memory is the memory of a GPU, as the driver has it, in bytes.
type Memory struct {
	Total int64 // of the GPU alone; 0 where the driver has free memory only
	Free  int64
}

// The queries of GL_NVX_gpu_memory_info and GL_ATI_meminfo. Both return KiB.
const (
	gpuMemoryTotal = 0x9047 // GL_GPU_MEMORY_INFO_DEDICATED_VIDMEM_NVX
	gpuMemoryFree  = 0x9049 // GL_GPU_MEMORY_INFO_CURRENT_AVAILABLE_VIDMEM_NVX
	bufferFree     = 0x87FB // GL_VBO_FREE_MEMORY_ATI: four values, the first is the pool's
)

// Memory returns the memory of the GPU, zero where the driver has no query for it. Other
// processes use it too. It waits for the GL thread, and fails as Do does.
func (c *Context) Memory() (Memory, error) {
	var m Memory
	err := c.Do(func(gl *GL) error {
		switch {
		case c.info.Has("GL_NVX_gpu_memory_info"):
			m = Memory{kibibytes(gl.integer(gpuMemoryTotal)), kibibytes(gl.integer(gpuMemoryFree))}
		case c.info.Has("GL_ATI_meminfo"):
			var free [4]int32
			gl45.GetIntegerv(bufferFree, &free[0])
			m.Free = kibibytes(free[0])
		}
		return gl.Err()
	})
	if err != nil {
		return Memory{}, fmt.Errorf("glctx: memory: %w", err)
	}
	return m, nil
}

// kibibytes returns n KiB in bytes. Drivers return the 32 bits of an unsigned number.
func kibibytes(n int32) int64 { return int64(uint32(n)) << 10 }
