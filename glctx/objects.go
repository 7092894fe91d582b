package glctx

import (
	"fmt"

	"github.com/shadercache/shadercache/internal/raw"
	"github.com/shadercache/shadercache/job/texel"
)

// GL has the OpenGL calls. It exists only inside a callback of Context.Do or
// Context.Post, on the GL thread, and must not be used outside.
//
// Most calls do not return errors, because reading GL's error flag costs time: Err
// returns the errors since the last Err. With Options.Debug every call is checked,
// and Do returns the first error.
type GL struct {
	c          *Context
	zeros      Buffer // indirect arguments of a dispatch without groups
	debugError error  // the first error that debugCheck found
	callbacks  uint64 // that have begun
}

// Barrier bits for MemoryBarrier, as OpenGL numbers them: the next use of the data.
const (
	BarrierStorage  uint32 = 0x2000 // by a kernel through a storage buffer
	BarrierUniform  uint32 = 0x4    // by a kernel through a uniform buffer
	BarrierCounters uint32 = 0x1000 // by a kernel through atomic counters
	BarrierImage    uint32 = 0x20   // by a kernel through an image
	BarrierTexture  uint32 = 0x8    // by a kernel through a sampler
	BarrierCommand  uint32 = 0x40   // as indirect arguments
	BarrierUpdate   uint32 = 0x200  // by Upload, Download, Copy, Fill
	BarrierMapped   uint32 = 0x4000 // by the host through a mapping
	// BarrierTextureUpdate is for UploadTexture, DownloadTexture and other copies of texels.
	BarrierTextureUpdate uint32 = 0x100 | 0x80
	BarrierAllKinds      uint32 = 0xFFFFFFFF
)

// Fence is a point in the command stream. The caller that made it deletes it.
type Fence struct{ sync uintptr }

// Query is a timestamp query. The caller that made it deletes it.
type Query struct{ id uint32 }

// Buffer is device memory of a fixed size. It is a GL name and may be copied. The
// caller that made it deletes it, on the GL thread.
type Buffer struct {
	ID   uint32
	Size int // bytes
}

func (b Buffer) mustContain(offset, n int) {
	if offset < 0 || n > b.Size-offset {
		panic(fmt.Sprintf("glctx: bytes %d to %d of a buffer of %d", offset, offset+n, b.Size))
	}
}

// Bytes returns the memory of a slice of numbers as bytes, without a copy. It is
// valid as long as s is.
func Bytes[T ~float32 | ~float64 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~uint16 | ~int16 | ~uint8 | ~int8](s []T) []byte {
	return raw.Bytes(s)
}

// MappedBuffer is memory that the host and kernels use at the same time, in words of
// 32 bits. It stays mapped until it is deleted. The host may access Words from
// any goroutine, with sync/atomic where a kernel may access the same word. GL
// guarantees that the host reads what a kernel wrote after a MemoryBarrier with
// BarrierMapped and a fence, and that a kernel reads what the host wrote before
// the dispatch. Which writes a driver makes visible earlier has to be measured.
type MappedBuffer struct {
	Buffer
	Words []uint32
}

// MapOptions configure a [MappedBuffer]: where a driver puts the memory, and how fast
// each side accesses it. The zero value is memory of the host, for reads and writes.
type MapOptions struct {
	// ServerStorage omits GL_CLIENT_STORAGE_BIT: the memory may be the GPU's, which
	// the host writes through a write-combining window and reads slowly.
	ServerStorage bool
	// WriteOnly maps it for writes of the host: Words must not be read.
	WriteOnly bool
	// ReadOnly maps it for reads of the host: Words must not be written.
	ReadOnly bool
	// Incoherent omits GL_MAP_COHERENT_BIT: without a MemoryBarrier with
	// BarrierMapped, GL guarantees nothing about the writes that one side reads of
	// the other, during a dispatch or after it.
	Incoherent bool
	// FlushExplicit maps it for writes of the host that reach the GPU only by
	// FlushMapped: for hosts that write little of a large buffer. It implies Incoherent and
	// excludes ReadOnly.
	FlushExplicit bool
}

// Direction is the direction of the copies that a [Staging] buffer is for.
type Direction uint32

// The two directions, as OpenGL numbers them. Upload memory may be uncached: write it in
// order, and do not read it.
const (
	Upload   Direction = 0x2 // GL_MAP_WRITE_BIT
	Download Direction = 0x1 // GL_MAP_READ_BIT
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

// HostRange is a part of a buffer that the host computes with: see [GL.OnHost].
type HostRange struct {
	Buffer      Buffer
	Offset, Len int // bytes

	// Mapped is all of the buffer's memory, where it stays mapped: see [MappedBuffer].
	Mapped []byte
}

// Floats returns memory as float32, without a copy and without a rest of up to three bytes.
// It is valid as long as memory is, which starts at a multiple of 4.
func Floats(memory []byte) []float32 { return raw.Floats(memory) }

// Texture is device memory of texels. It is a GL name and may be copied. The caller
// that made it deletes it, on the GL thread.
type Texture struct {
	ID uint32
	texel.Shape
	byClass bool // the driver aliases formats by class, not by size
}

// Aliases reports whether an image of format f may be bound to the texture: see
// texel.Format.Aliases.
func (t Texture) Aliases(f texel.Format) bool { return t.Format.Aliases(f, t.byClass) }

// Sampler is a GL sampler object. It may be copied. The caller that made it deletes it,
// on the GL thread.
type Sampler struct{ ID uint32 }

// Variable is a variable in a storage block of a program, with the driver's layout.
// The name of an array is that of its first element, as in "list[0].at[0]".
type Variable struct {
	Name      string
	Block     string
	Base      string
	Words     int // 32-bit words of one element; 0 for a matrix, and for other bases than float, int and uint
	Offset    int // bytes
	Length    int // elements of the innermost array; 0: to the end of the buffer
	Stride    int // bytes from element to element; 0: no array
	TopStride int // bytes from element to element of the outermost array; 0: none
}
