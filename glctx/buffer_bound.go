//go:build linux && cgo

package glctx

import (
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// The buffers of contexts below OpenGL 4.5, where a call names a binding point and not a
// buffer. They use the two binding points for copies, and restore them.

// bound calls fn with b bound to a binding point.
func (gl *GL) bound(target uint32, b Buffer, fn func()) {
	before := gl.integer(target) // the name of its binding is the same value
	gl45.BindBuffer(target, b.ID)
	fn()
	gl45.BindBuffer(target, uint32(before))
}

func (gl *GL) newBound(b *Buffer, initial unsafe.Pointer) {
	gl45.GenBuffers(1, &b.ID)
	gl.bound(gl45.COPY_WRITE_BUFFER, *b, func() {
		gl45.BufferData(gl45.COPY_WRITE_BUFFER, b.Size, initial, gl45.DYNAMIC_COPY)
	})
}

func (gl *GL) uploadBound(b Buffer, offset int, data []byte) {
	gl.bound(gl45.COPY_WRITE_BUFFER, b, func() {
		gl45.BufferSubData(gl45.COPY_WRITE_BUFFER, offset, len(data), unsafe.Pointer(unsafe.SliceData(data)))
	})
}

// downloadBound maps the buffer, since OpenGL ES has no other way to read one. Where the
// driver cannot map it, dst is not written and Err returns the error.
func (gl *GL) downloadBound(b Buffer, offset int, dst []byte) {
	gl.mapBound(gl45.COPY_READ_BUFFER, b, offset, len(dst), gl45.MAP_READ_BIT, func(memory unsafe.Pointer) {
		copy(dst, unsafe.Slice((*byte)(memory), len(dst)))
	})
}

// fillBound maps the buffer, since OpenGL ES has no call that clears one.
func (gl *GL) fillBound(b Buffer, word uint32) {
	const access = gl45.MAP_WRITE_BIT | gl45.MAP_INVALIDATE_BUFFER_BIT
	gl.mapBound(gl45.COPY_WRITE_BUFFER, b, 0, b.Size, access, func(memory unsafe.Pointer) {
		words := unsafe.Slice((*uint32)(memory), b.Size/4)
		for i := range words {
			words[i] = word
		}
	})
}

// mapBound calls fn with memory of the buffer, which is bound, unless the driver cannot map it.
func (gl *GL) mapBound(target uint32, b Buffer, offset, n int, access uint32, fn func(memory unsafe.Pointer)) {
	gl.bound(target, b, func() {
		if memory := gl45.MapBufferRange(target, offset, n, access); memory != nil {
			fn(memory)
			gl45.UnmapBuffer(target)
		}
	})
}

func (gl *GL) copyBound(from Buffer, fromOffset int, to Buffer, toOffset, n int) {
	gl.bound(gl45.COPY_READ_BUFFER, from, func() {
		gl.bound(gl45.COPY_WRITE_BUFFER, to, func() {
			gl45.CopyBufferSubData(gl45.COPY_READ_BUFFER, gl45.COPY_WRITE_BUFFER, fromOffset, toOffset, n)
		})
	})
}
