//go:build linux && cgo

package glctx

import (
	"fmt"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// NewStaging makes mapped memory of size bytes for one direction. It returns
// shader.ErrOutOfMemory where there is no room, and ErrNeeds45 in other contexts.
// DeleteStaging frees it.
func (gl *GL) NewStaging(size int, direction Direction) (Staging, error) {
	if size <= 0 {
		return Staging{}, fmt.Errorf("glctx: staging memory of %d bytes", size)
	}
	access := uint32(direction) | gl45.MAP_PERSISTENT_BIT | gl45.MAP_COHERENT_BIT
	b, memory, err := gl.mapNewBuffer(size, access|gl45.CLIENT_STORAGE_BIT, access)
	if err != nil {
		return Staging{}, err
	}
	return Staging{b, unsafe.Slice((*byte)(memory), size)}, nil
}

// DeleteStaging unmaps and frees staging memory. Data must not be used any more. The
// zero Staging is ignored.
func (gl *GL) DeleteStaging(s Staging) { gl.unmapAndDelete(s.Buffer) }
