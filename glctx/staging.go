package glctx

import (
	"fmt"
	"unsafe"

	"github.com/shadercache/shadercache/glctx/internal/gl45"
)

// Direction is the direction of the copies that a [Staging] buffer is for.
type Direction uint32

// The two directions. Upload memory may be uncached: write it in order, and do not
// read it.
const (
	Upload   Direction = gl45.MAP_WRITE_BIT
	Download Direction = gl45.MAP_READ_BIT
)

// Staging is host memory that the GPU can access. It stays mapped until it is
// deleted, and writes of both sides are visible without a flush. The host may use
// Data from any goroutine, but not while the GPU uses the same bytes: wait for a
// fence. After writes of the GPU, a MemoryBarrier with BarrierMapped has to come
// before that fence.
type Staging struct {
	Buffer
	Data []byte
}

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
