package executor

import (
	"context"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// Number is the element type of a Buffer.
type Number interface {
	~float32 | ~float64 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~uint16 | ~int16 | ~uint8 | ~int8
}

// Buffer is [Memory] for numbers of one type. Offsets and lengths are in
// elements.
type Buffer[T Number] struct {
	*Memory
	length int
}

// NewBuffer allocates device memory for n numbers, all zero. The caller releases it.
func NewBuffer[T Number](e *Executor, n int) (*Buffer[T], error) {
	m, err := e.NewMemory(n * elementSize[T]())
	if err != nil {
		return nil, err
	}
	return &Buffer[T]{m, n}, nil
}

// BufferOf allocates device memory that holds values. The caller releases it.
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

// Len returns the number of elements.
func (b *Buffer[T]) Len() int { return b.length }

// Upload copies values to the elements from offset on: see [Memory.Upload].
func (b *Buffer[T]) Upload(ctx context.Context, offset int, values []T) error {
	return b.Memory.Upload(ctx, offset*elementSize[T](), glctx.Bytes(values))
}

// Download copies the elements from offset on to dst: see [Memory.Download].
func (b *Buffer[T]) Download(ctx context.Context, offset int, dst []T) error {
	return b.Memory.Download(ctx, offset*elementSize[T](), glctx.Bytes(dst))
}

// Bind returns the whole buffer at a storage binding, for reads and writes.
func (b *Buffer[T]) Bind(binding uint32) job.Bound {
	return job.Bound{Binding: binding, Buffer: b.Memory}
}

// BindReadOnly returns the whole buffer at a storage binding, for reads.
func (b *Buffer[T]) BindReadOnly(binding uint32) job.Bound {
	return job.Bound{Binding: binding, Buffer: b.Memory, ReadOnly: true}
}
