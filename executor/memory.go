//go:build linux

package executor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/shadercache/shadercache/glctx"
)

// Memory is device memory that stays between jobs: weights, state, intermediate
// results. The one who made it releases it; jobs in flight keep it until the GPU
// has done with it. It must not be copied. Methods may be called from any
// goroutine.
//
// Upload, Fill and Download are for setting up and taking stock: they wait for
// the jobs submitted before that use the memory, and Download blocks the GL
// thread. Data that changes from job to job belongs into inputs and outputs.
type Memory struct {
	e        *Executor
	buffer   glctx.Buffer
	owners   atomic.Int32 // the caller, and every batch that uses it
	released atomic.Bool

	lastUse uint64 // the newest batch that uses it; guarded by Executor.mu

	// The GL thread knows by these whether a barrier is due: see recorder.
	readAt, writtenAt uint64
}

// NewMemory makes device memory of size bytes whose content is undefined. It
// returns shader.ErrOutOfMemory, wrapped, where the device has no room.
func (e *Executor) NewMemory(size int) (*Memory, error) {
	m := &Memory{e: e}
	err := e.context.Do(func(gl *glctx.GL) (err error) {
		m.buffer, err = gl.NewBuffer(size, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("executor: make memory of %d bytes: %w", size, err)
	}
	m.owners.Store(1)
	return m, nil
}

// Size is the number of bytes.
func (m *Memory) Size() int { return m.buffer.Size }

// Release gives the memory up. It does not wait and may be called twice, and
// after Executor.Close.
func (m *Memory) Release() {
	if !m.released.Swap(true) {
		m.drop()
	}
}

// retain counts a batch. It panics when nobody owns the memory any more.
func (m *Memory) retain() {
	if m.owners.Add(1) == 1 {
		panic("executor: Memory was released while Submit was using it")
	}
}

func (m *Memory) drop() {
	if m.owners.Add(-1) == 0 {
		m.e.context.Post(func(gl *glctx.GL) { gl.DeleteBuffer(m.buffer) })
	}
}

// Upload copies data to offset, after the jobs submitted so far that use the
// memory.
func (m *Memory) Upload(ctx context.Context, offset int, data []byte) error {
	return m.access(ctx, offset, len(data), func(gl *glctx.GL) { gl.Upload(m.buffer, offset, data) })
}

// Fill sets every 32-bit word to word, after the jobs submitted so far that use
// the memory. It fails where the size is not a multiple of 4.
func (m *Memory) Fill(ctx context.Context, word uint32) error {
	if m.Size()%4 != 0 {
		return fmt.Errorf("executor: memory of %d bytes cannot be filled with words", m.Size())
	}
	return m.access(ctx, 0, m.Size(), func(gl *glctx.GL) { gl.Fill(m.buffer, word) })
}

// Download copies from offset into dst what the jobs submitted so far have left
// there.
func (m *Memory) Download(ctx context.Context, offset int, dst []byte) error {
	return m.access(ctx, offset, len(dst), func(gl *glctx.GL) { gl.Download(m.buffer, offset, dst) })
}

// access runs fn on the GL thread once nothing on the GPU uses the memory.
func (m *Memory) access(ctx context.Context, offset, n int, fn func(gl *glctx.GL)) error {
	if m.released.Load() {
		return errMemoryReleased
	}
	if offset < 0 || n > m.Size()-offset {
		return fmt.Errorf("executor: bytes %d to %d of memory of %d", offset, offset+n, m.Size())
	}
	m.e.mu.Lock()
	last := m.lastUse
	m.e.mu.Unlock()
	if err := m.e.await(ctx, last); err != nil {
		return err
	}
	return m.e.context.Do(func(gl *glctx.GL) error {
		gl.MemoryBarrier(glctx.BarrierUpdate)
		fn(gl)
		return gl.Err()
	})
}

var errMemoryReleased = errors.New("executor: the memory was released")

// Number is what a Buffer may hold.
type Number interface {
	~float32 | ~float64 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~uint16 | ~int16 | ~uint8 | ~int8
}

// Buffer is [Memory] for numbers of one type. Offsets and lengths are in
// elements.
type Buffer[T Number] struct {
	*Memory
	length int
}

// NewBuffer makes device memory for n numbers, undefined as yet. The caller
// releases it.
func NewBuffer[T Number](e *Executor, n int) (*Buffer[T], error) {
	m, err := e.NewMemory(n * elementSize[T]())
	if err != nil {
		return nil, err
	}
	return &Buffer[T]{m, n}, nil
}

// BufferOf makes device memory that holds values. The caller releases it.
func BufferOf[T Number](e *Executor, values []T) (*Buffer[T], error) {
	b, err := NewBuffer[T](e, len(values))
	if err != nil {
		return nil, err
	}
	if err := b.Upload(context.Background(), 0, values); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func elementSize[T Number]() int { return len(glctx.Bytes(make([]T, 1))) }

// Len is the number of elements.
func (b *Buffer[T]) Len() int { return b.length }

// Upload is Memory.Upload, in elements.
func (b *Buffer[T]) Upload(ctx context.Context, offset int, values []T) error {
	return b.Memory.Upload(ctx, offset*elementSize[T](), glctx.Bytes(values))
}

// Download is Memory.Download, in elements.
func (b *Buffer[T]) Download(ctx context.Context, offset int, dst []T) error {
	return b.Memory.Download(ctx, offset*elementSize[T](), glctx.Bytes(dst))
}

// Bind is the whole buffer at a storage binding, to be read and written.
func (b *Buffer[T]) Bind(binding uint32) Bound { return Bound{Binding: binding, Memory: b.Memory} }

// BindReadOnly is the whole buffer at a storage binding, to be read only.
func (b *Buffer[T]) BindReadOnly(binding uint32) Bound {
	return Bound{Binding: binding, Memory: b.Memory, ReadOnly: true}
}
