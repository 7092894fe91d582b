package shadercache

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache/executor"
)

// ownMemory is a buffer of a GPU of this process, which several of its users may have open.
type ownMemory struct {
	memory *executor.Memory
	users  atomic.Int32 // and the name

	mu struct {
		sync.Mutex // held while a write changes the version
		version    uint64
	}
}

// leave ends one use.
func (m *ownMemory) leave() {
	if m.users.Add(-1) == 0 {
		m.memory.Release()
	}
}

// wrote counts a write by a job.
func (m *ownMemory) wrote() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.version++
}

// ownBuffer is one use of a buffer.
type ownBuffer struct {
	*ownMemory
	device   *ownDevice
	opened   uint64 // the version then
	created  bool
	released atomic.Bool
}

func (d *ownDevice) NewBuffer(ctx context.Context, size int) (Buffer, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	m, err := d.newMemory(ctx, size)
	if err != nil {
		return nil, err
	}
	m.users.Store(1)
	return &ownBuffer{ownMemory: m, device: d, created: true}, nil
}

// newMemory makes memory that is all zero.
func (d *ownDevice) newMemory(ctx context.Context, size int) (*ownMemory, error) {
	if limit := d.gpu.Context.Info().MaxStorage; size <= 0 || size%4 != 0 || int64(size) > limit {
		return nil, fmt.Errorf("%w: a buffer of %d bytes: a multiple of 4 up to %d is needed", ErrInvalid, size, limit)
	}
	memory, err := d.gpu.Executor.NewMemory(size)
	if err != nil {
		return nil, ownError(err)
	}
	if err := memory.Fill(ctx, 0); err != nil {
		memory.Release()
		return nil, ownError(err)
	}
	return &ownMemory{memory: memory}, nil
}

// NewMapped makes a buffer of the host, for packages above this one: see
// executor.NewMappedMemory. Write and Replace of it fail.
func (d *ownDevice) NewMapped(size int, written bool) (Buffer, []byte, error) {
	if err := d.err(); err != nil {
		return nil, nil, err
	}
	memory, mapping, err := d.gpu.Executor.NewMappedMemory(size, written)
	if err != nil {
		return nil, nil, ownError(err)
	}
	m := &ownMemory{memory: memory}
	m.users.Store(1)
	return &ownBuffer{ownMemory: m, device: d, created: true}, mapping, nil
}

func (d *ownDevice) NamedBuffer(ctx context.Context, name string, size int) (Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return nil, ErrClosed
	}
	if name == "" {
		return nil, fmt.Errorf("%w: a named buffer without a name", ErrInvalid)
	}
	m, found := d.mu.named[name]
	if !found {
		var err error
		if m, err = d.newMemory(ctx, size); err != nil {
			return nil, err
		}
		m.users.Store(1) // the name
		d.mu.named[name] = m
	}
	if have := m.memory.Size(); have != size {
		return nil, fmt.Errorf("%w: the named buffer %q has %d bytes, not %d", ErrExists, name, have, size)
	}
	m.users.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	return &ownBuffer{ownMemory: m, device: d, opened: m.mu.version, created: !found}, nil
}

func (d *ownDevice) DeleteBuffer(_ context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return ErrClosed
	}
	m, found := d.mu.named[name]
	if !found {
		return fmt.Errorf("%w: there is no named buffer %q", ErrNotFound, name)
	}
	delete(d.mu.named, name)
	m.leave()
	return nil
}

func (b *ownBuffer) Size() int       { return b.memory.Size() }
func (b *ownBuffer) Version() uint64 { return b.opened }
func (b *ownBuffer) Created() bool   { return b.created }

func (b *ownBuffer) Release() {
	if !b.released.Swap(true) {
		b.leave()
	}
}

// check returns an error for a range that the buffer has not.
func (b *ownBuffer) check(offset, n int) error {
	switch err := b.device.err(); {
	case err != nil:
		return err
	case b.released.Load():
		return ErrReleased
	case n == 0 || offset < 0 || n > b.Size()-offset:
		return fmt.Errorf("%w: bytes %d to %d of a buffer of %d", ErrInvalid, offset, offset+n, b.Size())
	}
	return nil
}

func (b *ownBuffer) Write(ctx context.Context, offset int, data []byte) (uint64, error) {
	return b.write(ctx, offset, data, func(version uint64) (uint64, error) { return version + 1, nil })
}

func (b *ownBuffer) Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (uint64, error) {
	return b.write(ctx, offset, data, func(version uint64) (uint64, error) {
		if version != expected {
			return 0, fmt.Errorf("%w: it has %d, expected was %d", ErrConflict, version, expected)
		}
		if next == 0 {
			return version + 1, nil
		}
		return next, nil
	})
}

// write copies data, and sets the version to what next returns for the one before.
func (b *ownBuffer) write(ctx context.Context, offset int, data []byte, next func(uint64) (uint64, error)) (uint64, error) {
	if err := b.check(offset, len(data)); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	version, err := next(b.mu.version)
	if err != nil {
		return 0, err
	}
	if err := b.memory.UploadInPieces(ctx, offset, data); err != nil {
		return 0, ownError(err)
	}
	b.mu.version = version
	return version, nil
}

func (b *ownBuffer) Read(ctx context.Context, offset int, dst []byte) (uint64, error) {
	if err := b.check(offset, len(dst)); err != nil {
		return 0, err
	}
	if err := b.memory.DownloadInPieces(ctx, offset, dst); err != nil {
		return 0, ownError(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.version, nil
}

// Use returns the memory of the buffer for a job of the executor, which writes it or not:
// for packages above this one.
func (b *ownBuffer) Use(writes bool) (*executor.Memory, error) {
	if b.released.Load() {
		return nil, ErrReleased
	}
	if writes {
		b.wrote()
	}
	return b.memory, nil
}

// bound returns the memory of a buffer at a binding.
func (d *ownDevice) bound(of *Bound) (executor.Bound, error) {
	b, ok := of.Buffer.(*ownBuffer)
	if !ok || b.device != d {
		return executor.Bound{}, fmt.Errorf("%w: binding %d has no buffer of this device", ErrInvalid, of.Binding)
	}
	memory, err := b.Use(!of.ReadOnly)
	if err != nil {
		return executor.Bound{}, fmt.Errorf("buffer at binding %d: %w", of.Binding, err)
	}
	return executor.Bound{Binding: of.Binding, Memory: memory, Offset: of.Offset, Size: of.Size, ReadOnly: of.ReadOnly}, nil
}
