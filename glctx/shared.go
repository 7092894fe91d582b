//go:build linux

package glctx

import (
	"fmt"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// Shared is memory that the host and kernels read and write side by side, word
// by word: it stays mapped for its whole life. The host may touch Words from
// any goroutine, by sync/atomic where a kernel may do so at the same time. GL
// promises that the host sees what a kernel wrote after a MemoryBarrier with
// BarrierMapped and a fence, and that a kernel sees what the host wrote before
// the dispatch; what a driver shows earlier has to be found out.
type Shared struct {
	Buffer
	Words []uint32
}

// NewShared makes mapped memory of so many 32-bit words, all zero. It returns
// binary.ErrOutOfMemory where there is no room. DeleteShared frees it.
func (gl *GL) NewShared(words int) (Shared, error) {
	if words <= 0 {
		return Shared{}, fmt.Errorf("glctx: shared memory of %d words", words)
	}
	if err := gl.Err(); err != nil {
		return Shared{}, fmt.Errorf("glctx: an earlier call failed: %w", err)
	}
	const both = gl45.MAP_READ_BIT | gl45.MAP_WRITE_BIT | gl45.MAP_PERSISTENT_BIT | gl45.MAP_COHERENT_BIT
	s := Shared{Buffer: Buffer{Size: 4 * words}}
	gl45.CreateBuffers(1, &s.ID)
	gl45.NamedBufferStorage(s.ID, s.Size, nil, both|gl45.CLIENT_STORAGE_BIT)
	memory := gl45.MapNamedBufferRange(s.ID, 0, s.Size, both)
	if err := gl.Err(); err != nil || memory == nil {
		gl45.DeleteBuffers(1, &s.ID)
		return Shared{}, fmt.Errorf("glctx: map %d words: %w", words, orNoReason("glMapNamedBufferRange", err))
	}
	gl.c.counters.buffers.Add(1)
	s.Words = unsafe.Slice((*uint32)(memory), words)
	clear(s.Words)
	return s, nil
}

// DeleteShared unmaps and frees shared memory. Words must not be touched any
// more. The zero Shared is ignored.
func (gl *GL) DeleteShared(s Shared) {
	if s.ID != 0 {
		gl45.UnmapNamedBuffer(s.ID)
		gl.DeleteBuffer(s.Buffer)
	}
}
