//go:build linux

package glctx

import (
	"fmt"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// Direction says which way a [Staging] buffer is meant for.
type Direction uint32

// The two directions. Upload memory may be uncached: write it in order, never
// read it.
const (
	Upload   Direction = gl45.MAP_WRITE_BIT
	Download Direction = gl45.MAP_READ_BIT
)

// Staging is host memory that the GPU can reach: it stays mapped for its whole
// life, and both sides see each other's writes without a flush. The host may
// touch Data from any goroutine, but only while the GPU does not use the same
// bytes: a fence says when. After the GPU wrote, a MemoryBarrier with
// BarrierMapped has to come before that fence.
type Staging struct {
	Buffer
	Data []byte
}

// NewStaging makes mapped memory of size bytes for one direction. It returns
// shader.ErrOutOfMemory where there is no room. DeleteStaging frees it.
func (gl *GL) NewStaging(size int, way Direction) (Staging, error) {
	if size <= 0 {
		return Staging{}, fmt.Errorf("glctx: staging memory of %d bytes", size)
	}
	if err := gl.Err(); err != nil {
		return Staging{}, fmt.Errorf("glctx: an earlier call failed: %w", err)
	}
	const mapped = gl45.MAP_PERSISTENT_BIT | gl45.MAP_COHERENT_BIT
	s := Staging{Buffer: Buffer{Size: size}}
	gl45.CreateBuffers(1, &s.ID)
	gl45.NamedBufferStorage(s.ID, size, nil, uint32(way)|mapped|gl45.CLIENT_STORAGE_BIT)
	memory := gl45.MapNamedBufferRange(s.ID, 0, size, uint32(way)|mapped)
	if err := gl.Err(); err != nil || memory == nil {
		gl45.DeleteBuffers(1, &s.ID)
		return Staging{}, fmt.Errorf("glctx: map %d bytes: %w", size, orNoReason("glMapNamedBufferRange", err))
	}
	gl.c.counters.buffers.Add(1)
	s.Data = unsafe.Slice((*byte)(memory), size)
	return s, nil
}

// DeleteStaging unmaps and frees staging memory. Data must not be touched any
// more. The zero Staging is ignored.
func (gl *GL) DeleteStaging(s Staging) {
	if s.ID != 0 {
		gl45.UnmapNamedBuffer(s.ID)
		gl.DeleteBuffer(s.Buffer)
	}
}

// orNoReason is err, or an error for a call that failed and raised none.
func orNoReason(call string, err error) error {
	if err == nil {
		return &Error{Call: call, Code: gl45.INVALID_OPERATION}
	}
	return err
}

// BindStorageRange binds n bytes of b from offset, a multiple of
// Info.StorageAlignment, to a shader storage binding point.
func (gl *GL) BindStorageRange(binding uint32, b Buffer, offset, n int) {
	gl45.BindBufferRange(gl45.SHADER_STORAGE_BUFFER, binding, b.ID, offset, n)
	gl.check("glBindBufferRange")
}

// BindUniformsRange binds n bytes of b from offset, a multiple of
// Info.UniformAlignment, to a uniform block binding point.
func (gl *GL) BindUniformsRange(binding uint32, b Buffer, offset, n int) {
	gl45.BindBufferRange(gl45.UNIFORM_BUFFER, binding, b.ID, offset, n)
	gl.check("glBindBufferRange")
}
