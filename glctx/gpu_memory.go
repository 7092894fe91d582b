//go:build linux && cgo

package glctx

import gl45 "github.com/go-gl/gl/v4.5-core/gl"

// Queries of GL_NVX_gpu_memory_info, with one value each, and of GL_ATI_meminfo, with
// four, of which the first is all that is free. Both are in KiB.
const (
	gpuMemoryDedicatedNVX = 0x9047
	gpuMemoryFreeNVX      = 0x9049
	vboFreeMemoryATI      = 0x87FB
)

// GPUMemory returns the memory of the GPU and what of it is free, in bytes, for all
// processes together: 0 and 0 where the driver has neither GL_NVX_gpu_memory_info nor
// GL_ATI_meminfo, for a software driver, which has no such memory ([Info.Software]), and
// after the context was lost. With GL_ATI_meminfo alone total is 0.
func (c *Context) GPUMemory() (total, free int64) {
	_ = c.Do(func(gl *GL) error {
		switch {
		case c.info.Software(): // Mesa 25's llvmpipe answers with figures of the host's address space
		case c.info.Has("GL_NVX_gpu_memory_info"):
			total, free = gl.kibibytes(gpuMemoryDedicatedNVX), gl.kibibytes(gpuMemoryFreeNVX)
		case c.info.Has("GL_ATI_meminfo"):
			free = gl.kibibytes(vboFreeMemoryATI)
		}
		return nil
	})
	return total, free
}

// kibibytes returns the first value of a query in KiB, as bytes.
func (gl *GL) kibibytes(name uint32) int64 {
	var values [4]int32
	gl45.GetIntegerv(name, &values[0])
	gl.debugCheck("glGetIntegerv")
	return max(int64(values[0]), 0) << 10
}
