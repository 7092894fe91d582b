//go:build linux && cgo

package glctx

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

const externalVirtualMemory = 0x9160 // EXTERNAL_VIRTUAL_MEMORY_BUFFER_AMD

// NewPinned makes a buffer whose storage is memory of this process: kernels read and write
// it in place. memory is a mapping, not of Go's heap, that begins at a page and has whole
// pages. It must stay mapped until the buffer is deleted and the commands that use it are
// complete, and every page must be accessible: the driver's threads touch it, where a
// SIGBUS ends the process. It needs Info.PinnedMemory; the context's other buffers are
// faster on a GPU with memory of its own, for data that kernels read more than once.
func (gl *GL) NewPinned(memory []byte) (Buffer, error) {
	if !gl.c.info.PinnedMemory() {
		return Buffer{}, errors.New("glctx: this driver has no GL_AMD_pinned_memory")
	}
	start := unsafe.Pointer(unsafe.SliceData(memory))
	if page := os.Getpagesize(); len(memory) == 0 || len(memory)%page != 0 || uintptr(start)%uintptr(page) != 0 {
		return Buffer{}, fmt.Errorf("glctx: pinned memory of %d bytes at %p: whole pages are needed", len(memory), start)
	}
	return gl.makeBuffer("pin", len(memory), func(b *Buffer) error {
		gl45.CreateBuffers(1, &b.ID)
		gl45.BindBuffer(externalVirtualMemory, b.ID)
		gl45.BufferData(externalVirtualMemory, b.Size, start, gl45.DYNAMIC_COPY)
		gl45.BindBuffer(externalVirtualMemory, 0)
		return gl.Err()
	})
}
