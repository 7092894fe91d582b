//go:build linux && cgo

package glctx

import (
	"fmt"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// OnHost calls fn with the memory of ranges, in order, after all earlier commands. fn may
// read and write it until it returns, and later commands use what it has written. Several
// ranges may be of one buffer.
//
// It is for drivers that run kernels on the CPU (Info.Software), where buffers are memory of
// the host and mapping one costs a microsecond. It returns ErrNotSoftware elsewhere, the
// error of fn, and that of the driver where a buffer cannot be mapped: fn is not called
// then. It panics for a range that is not in its buffer.
func (gl *GL) OnHost(ranges []HostRange, fn func(memory [][]byte) error) (err error) {
	if !gl.c.info.Software() {
		return fmt.Errorf("glctx: compute on the host, beside %s: %w", gl.c.info.GPU, ErrNotSoftware)
	}
	gl.MemoryBarrier(BarrierAllKinds)
	var m hostMappings
	defer func() {
		if lost := m.unmap(gl); err == nil {
			err = lost
		}
	}()
	memory := make([][]byte, len(ranges))
	for i, r := range ranges {
		all, err := m.memory(gl, r)
		if err != nil {
			return fmt.Errorf("glctx: map %d bytes: %w", r.Buffer.Size, err)
		}
		memory[i] = all[r.Offset : r.Offset+r.Len : r.Offset+r.Len]
	}
	return fn(memory)
}

// hostMappings are the buffers that a call of OnHost has mapped: GL maps each once.
type hostMappings struct {
	buffers  []Buffer
	memories [][]byte
	waited   bool
}

// memory returns all memory of the buffer of a range. Mapping waits for earlier commands;
// for memory that stays mapped it waits itself.
func (m *hostMappings) memory(gl *GL, r HostRange) ([]byte, error) {
	if r.Mapped != nil {
		if !m.waited {
			gl.Finish()
			m.waited = true
		}
		return r.Mapped, gl.Err()
	}
	for i, b := range m.buffers {
		if b.ID == r.Buffer.ID {
			return m.memories[i], nil
		}
	}
	memory, err := gl.mapWhole(r.Buffer)
	if err == nil {
		m.buffers, m.memories = append(m.buffers, r.Buffer), append(m.memories, memory)
	}
	return memory, err
}

// unmap returns an error where the driver lost what was written.
func (m *hostMappings) unmap(gl *GL) (err error) {
	for _, b := range m.buffers {
		if !gl.unmap(b) {
			err = orInvalidOperation("glUnmapBuffer", gl.Err())
		}
	}
	return err
}

const hostAccess = gl45.MAP_READ_BIT | gl45.MAP_WRITE_BIT

// mapWhole maps a buffer for reads and writes.
func (gl *GL) mapWhole(b Buffer) ([]byte, error) {
	_ = gl.Err() // of earlier calls
	var memory unsafe.Pointer
	if gl.c.full {
		memory = gl45.MapNamedBufferRange(b.ID, 0, b.Size, hostAccess)
	} else {
		gl.bound(gl45.COPY_WRITE_BUFFER, b, func() {
			memory = gl45.MapBufferRange(gl45.COPY_WRITE_BUFFER, 0, b.Size, hostAccess)
		})
	}
	if err := gl.Err(); err != nil || memory == nil {
		return nil, orInvalidOperation("glMapBufferRange", err)
	}
	return unsafe.Slice((*byte)(memory), b.Size), nil
}

// unmap reports whether the content of the buffer is what the host has written.
func (gl *GL) unmap(b Buffer) (ok bool) {
	if gl.c.full {
		return gl45.UnmapNamedBuffer(b.ID)
	}
	gl.bound(gl45.COPY_WRITE_BUFFER, b, func() { ok = gl45.UnmapBuffer(gl45.COPY_WRITE_BUFFER) })
	return ok
}
