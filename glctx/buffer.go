//go:build linux && cgo

package glctx

import (
	"fmt"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// NewBuffer makes a buffer of size bytes that starts with data. The rest is
// undefined. It returns shader.ErrOutOfMemory where the device has no room.
func (gl *GL) NewBuffer(size int, data []byte) (Buffer, error) {
	if size <= 0 || len(data) > size {
		return Buffer{}, fmt.Errorf("glctx: a buffer of %d bytes for %d bytes of data", size, len(data))
	}
	var initial unsafe.Pointer
	if len(data) == size {
		initial = unsafe.Pointer(unsafe.SliceData(data))
	}
	b, err := gl.makeBuffer("make a buffer of", size, func(b *Buffer) error {
		if gl.c.full {
			gl45.CreateBuffers(1, &b.ID)
			gl45.NamedBufferStorage(b.ID, size, initial, gl.storageFlags())
		} else {
			gl.newBound(b, initial)
		}
		return gl.Err()
	})
	if err == nil && len(data) > 0 && len(data) < size {
		gl.Upload(b, 0, data)
	}
	return b, err
}

// makeBuffer makes a buffer whose storage allocate makes. doing says in an error what that is.
func (gl *GL) makeBuffer(doing string, size int, allocate func(b *Buffer) error) (Buffer, error) {
	if err := gl.Err(); err != nil {
		return Buffer{}, fmt.Errorf("glctx: an earlier call failed: %w", err)
	}
	b := Buffer{Size: size}
	if err := allocate(&b); err != nil {
		gl45.DeleteBuffers(1, &b.ID)
		return Buffer{}, fmt.Errorf("glctx: %s %d bytes: %w", doing, size, err)
	}
	count(gl.c, &gl.c.counted.Buffers, 1)
	return b, nil
}

// storageFlags returns those of a buffer: on a software driver the host may map it, see
// OnHost. Elsewhere that would decide where a driver puts it.
func (gl *GL) storageFlags() uint32 {
	if gl.c.info.Software() {
		return gl45.DYNAMIC_STORAGE_BIT | hostAccess
	}
	return gl45.DYNAMIC_STORAGE_BIT
}

// DeleteBuffer frees a buffer after the commands that use it. The zero Buffer is
// ignored.
func (gl *GL) DeleteBuffer(b Buffer) {
	gl.delete(b.ID, &gl.c.counted.Buffers, "glDeleteBuffers", gl45.DeleteBuffers)
}

// delete deletes an object by its call, unless it has no name, and takes it from those that live.
func (gl *GL) delete(id uint32, live *int64, call string, del func(n int32, ids *uint32)) {
	if id != 0 {
		count(gl.c, live, -1)
		del(1, &id)
		gl.debugCheck(call)
	}
}

// Upload copies data into b at offset, in order with other commands. It panics when
// data does not fit.
func (gl *GL) Upload(b Buffer, offset int, data []byte) {
	if len(data) == 0 {
		return
	}
	b.mustContain(offset, len(data))
	if !gl.c.full {
		gl.uploadBound(b, offset, data)
		gl.debugCheck("glBufferSubData")
		return
	}
	gl45.NamedBufferSubData(b.ID, offset, len(data), unsafe.Pointer(unsafe.SliceData(data)))
	gl.debugCheck("glNamedBufferSubData")
}

// Download copies from b at offset into dst, after all earlier commands. It blocks
// the GL thread. After a kernel wrote to b, a MemoryBarrier with BarrierUpdate has to
// come first. It panics when dst is too large.
func (gl *GL) Download(b Buffer, offset int, dst []byte) {
	if len(dst) == 0 {
		return
	}
	b.mustContain(offset, len(dst))
	count(gl.c, &gl.c.counted.Readbacks, 1)
	if !gl.c.full {
		gl.downloadBound(b, offset, dst)
		gl.debugCheck("glMapBufferRange")
		return
	}
	gl45.GetNamedBufferSubData(b.ID, offset, len(dst), unsafe.Pointer(unsafe.SliceData(dst)))
	gl.debugCheck("glGetNamedBufferSubData")
}

// Fill sets every 32-bit word of b to word, in order with other commands. The size of
// b must be a multiple of 4.
func (gl *GL) Fill(b Buffer, word uint32) {
	if !gl.c.full {
		gl.fillBound(b, word)
		gl.debugCheck("glMapBufferRange")
		return
	}
	gl.fillRange(b, 0, b.Size, unsafe.Pointer(&word))
	// NVIDIA's driver may run a large Upload that follows before the clear. A copy
	// in between, of a word that does not change, keeps the order.
	if b.Size >= 8 {
		gl.Copy(b, 0, b, b.Size-4, 4)
	}
}

// Clear sets n bytes of b from offset to zero, both multiples of 4, in order with kernels
// and copies, but not with an Upload that follows: see Fill. It needs OpenGL 4.5.
func (gl *GL) Clear(b Buffer, offset, n int) {
	b.mustContain(offset, n)
	gl.fillRange(b, offset, n, nil)
}

// fillRange sets the words of a range to the word, or to zero without one.
func (gl *GL) fillRange(b Buffer, offset, n int, word unsafe.Pointer) {
	gl45.ClearNamedBufferSubData(b.ID, gl45.R32UI, offset, n, gl45.RED_INTEGER, gl45.UNSIGNED_INT, word)
	gl.debugCheck("glClearNamedBufferSubData")
}

// Copy copies n bytes on the device.
func (gl *GL) Copy(from Buffer, fromOffset int, to Buffer, toOffset, n int) {
	from.mustContain(fromOffset, n)
	to.mustContain(toOffset, n)
	if !gl.c.full {
		gl.copyBound(from, fromOffset, to, toOffset, n)
		gl.debugCheck("glCopyBufferSubData")
		return
	}
	gl45.CopyNamedBufferSubData(from.ID, to.ID, fromOffset, toOffset, n)
	gl.debugCheck("glCopyNamedBufferSubData")
}

// BindStorage binds b to a shader storage binding point.
func (gl *GL) BindStorage(binding uint32, b Buffer) {
	gl45.BindBufferBase(gl45.SHADER_STORAGE_BUFFER, binding, b.ID)
	gl.debugCheck("glBindBufferBase")
}

// BindStorageRange binds n bytes of b from offset, a multiple of
// Info.StorageAlignment, to a shader storage binding point.
func (gl *GL) BindStorageRange(binding uint32, b Buffer, offset, n int) {
	gl45.BindBufferRange(gl45.SHADER_STORAGE_BUFFER, binding, b.ID, offset, n)
	gl.debugCheck("glBindBufferRange")
}

// BindUniformsRange binds n bytes of b from offset, a multiple of
// Info.UniformAlignment, to a uniform block binding point.
func (gl *GL) BindUniformsRange(binding uint32, b Buffer, offset, n int) {
	gl45.BindBufferRange(gl45.UNIFORM_BUFFER, binding, b.ID, offset, n)
	gl.debugCheck("glBindBufferRange")
}
