//go:build linux

package glctx

import (
	"fmt"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// MapOptions says how mapped memory is made, which decides where a driver puts
// it and how fast each side reaches it. The zero value is what NewMapped makes.
type MapOptions struct {
	// ServerStorage leaves GL_CLIENT_STORAGE_BIT away: the memory may be the
	// GPU's own, which the host writes through a write-combining window and reads
	// slowly.
	ServerStorage bool
	// WriteOnly maps it for writes of the host: Words must not be read.
	WriteOnly bool
	// ReadOnly maps it for reads of the host: Words must not be written.
	ReadOnly bool
	// Incoherent leaves GL_MAP_COHERENT_BIT away: GL promises nothing then about
	// what one side sees, during a dispatch or after it, without a MemoryBarrier
	// with BarrierMapped.
	Incoherent bool
}

// flags are those of the storage and of the mapping.
func (k MapOptions) flags() (storage, access uint32) {
	access = gl45.MAP_PERSISTENT_BIT
	if !k.WriteOnly {
		access |= gl45.MAP_READ_BIT
	}
	if !k.ReadOnly {
		access |= gl45.MAP_WRITE_BIT
	}
	if !k.Incoherent {
		access |= gl45.MAP_COHERENT_BIT
	}
	storage = access
	if !k.ServerStorage {
		storage |= gl45.CLIENT_STORAGE_BIT
	}
	return storage, access
}

// NewMappedWith is NewMapped for memory of another kind. For ReadOnly it waits for
// the GPU, which writes the zeros.
func (gl *GL) NewMappedWith(words int, k MapOptions) (MappedBuffer, error) {
	if words <= 0 || k.WriteOnly && k.ReadOnly {
		return MappedBuffer{}, fmt.Errorf("glctx: shared memory of %d words, %+v", words, k)
	}
	if err := gl.Err(); err != nil {
		return MappedBuffer{}, fmt.Errorf("glctx: an earlier call failed: %w", err)
	}
	storage, access := k.flags()
	s := MappedBuffer{Buffer: Buffer{Size: 4 * words}}
	gl45.CreateBuffers(1, &s.ID)
	gl45.NamedBufferStorage(s.ID, s.Size, nil, storage)
	memory := gl45.MapNamedBufferRange(s.ID, 0, s.Size, access)
	if err := gl.Err(); err != nil || memory == nil {
		gl45.DeleteBuffers(1, &s.ID)
		return MappedBuffer{}, fmt.Errorf("glctx: map %d words: %w", words, orNoReason("glMapNamedBufferRange", err))
	}
	gl.c.counters.buffers.Add(1)
	s.Words = unsafe.Slice((*uint32)(memory), words)
	if !k.ReadOnly {
		clear(s.Words)
		return s, nil
	}
	gl.Fill(s.Buffer, 0)
	gl.MemoryBarrier(BarrierMapped)
	gl.Finish()
	if err := gl.Err(); err != nil {
		gl.DeleteMapped(s)
		return MappedBuffer{}, fmt.Errorf("glctx: clear %d mapped words: %w", words, err)
	}
	return s, nil
}
