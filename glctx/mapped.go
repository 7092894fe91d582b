//go:build linux

package glctx

import (
	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// MappedBuffer is memory that the host and kernels read and write side by side, word
// by word: it stays mapped for its whole life. The host may touch Words from
// any goroutine, by sync/atomic where a kernel may do so at the same time. GL
// promises that the host sees what a kernel wrote after a MemoryBarrier with
// BarrierMapped and a fence, and that a kernel sees what the host wrote before
// the dispatch; what a driver shows earlier has to be found out.
type MappedBuffer struct {
	Buffer
	Words []uint32
}

// NewMapped makes mapped memory of so many 32-bit words, all zero. It returns
// shader.ErrOutOfMemory where there is no room. DeleteShared frees it.
func (gl *GL) NewMapped(words int) (MappedBuffer, error) {
	return gl.NewMappedWith(words, MapOptions{})
}

// DeleteMapped unmaps and frees shared memory. Words must not be touched any
// more. The zero Shared is ignored.
func (gl *GL) DeleteMapped(s MappedBuffer) {
	if s.ID != 0 {
		gl45.UnmapNamedBuffer(s.ID)
		gl.DeleteBuffer(s.Buffer)
	}
}
