//go:build linux && cgo

package glctx

import (
	"fmt"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// flags returns the flags of the storage and of the mapping.
func (o MapOptions) flags() (storage, access uint32) {
	access = gl45.MAP_PERSISTENT_BIT
	if !o.WriteOnly {
		access |= gl45.MAP_READ_BIT
	}
	if !o.ReadOnly {
		access |= gl45.MAP_WRITE_BIT
	}
	if !o.Incoherent && !o.FlushExplicit {
		access |= gl45.MAP_COHERENT_BIT
	}
	storage = access
	if !o.ServerStorage {
		storage |= gl45.CLIENT_STORAGE_BIT
	}
	if o.FlushExplicit { // of the mapping only: storage with it is an error
		access |= gl45.MAP_FLUSH_EXPLICIT_BIT
	}
	return storage, access
}

// NewMapped makes a mapped buffer of words 32-bit words, all zero. With ReadOnly it waits
// for the GPU, which writes the zeros. It returns shader.ErrOutOfMemory where there is no
// room, and ErrNeeds45 in other contexts. DeleteMapped frees it.
func (gl *GL) NewMapped(words int, o MapOptions) (MappedBuffer, error) {
	if words <= 0 || (o.WriteOnly || o.FlushExplicit) && o.ReadOnly {
		return MappedBuffer{}, fmt.Errorf("glctx: a mapped buffer of %d words, %+v", words, o)
	}
	storage, access := o.flags()
	b, memory, err := gl.mapNewBuffer(4*words, storage, access)
	if err != nil {
		return MappedBuffer{}, err
	}
	m := MappedBuffer{b, unsafe.Slice((*uint32)(memory), words)}
	if !o.ReadOnly {
		clear(m.Words)
		if o.FlushExplicit {
			gl.FlushMapped(m, 0, words)
		}
		return m, nil
	}
	gl.Fill(m.Buffer, 0)
	gl.MemoryBarrier(BarrierMapped)
	gl.Finish()
	if err := gl.Err(); err != nil {
		gl.DeleteMapped(m)
		return MappedBuffer{}, fmt.Errorf("glctx: clear %d mapped words: %w", words, err)
	}
	return m, nil
}

// mapNewBuffer makes a buffer of size bytes and maps all of it.
func (gl *GL) mapNewBuffer(size int, storage, access uint32) (b Buffer, memory unsafe.Pointer, err error) {
	if err := gl.c.Require45("mapped memory"); err != nil {
		return Buffer{}, nil, fmt.Errorf("glctx: map %d bytes: %w", size, err)
	}
	b, err = gl.makeBuffer("map", size, func(b *Buffer) error {
		gl45.CreateBuffers(1, &b.ID)
		gl45.NamedBufferStorage(b.ID, size, nil, storage)
		memory = gl45.MapNamedBufferRange(b.ID, 0, size, access)
		if err := gl.Err(); err != nil || memory == nil {
			return orInvalidOperation("glMapNamedBufferRange", err)
		}
		return nil
	})
	return b, memory, err
}

// FlushMapped makes words that the host has written visible to commands that follow. It
// is for buffers with MapOptions.FlushExplicit.
func (gl *GL) FlushMapped(m MappedBuffer, first, words int) {
	gl45.FlushMappedNamedBufferRange(m.ID, 4*first, 4*words)
	gl.debugCheck("glFlushMappedNamedBufferRange")
}

// DeleteMapped unmaps and frees a mapped buffer. Words must not be used any more. The
// zero MappedBuffer is ignored.
func (gl *GL) DeleteMapped(m MappedBuffer) { gl.unmapAndDelete(m.Buffer) }

func (gl *GL) unmapAndDelete(b Buffer) {
	if b.ID != 0 {
		gl45.UnmapNamedBuffer(b.ID)
		gl.DeleteBuffer(b)
	}
}
