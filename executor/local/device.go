// Package local makes a GPU of this process a job.Device: jobs go to an executor, programs
// come from a cache.
package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/named"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// Device is a GPU of this process: a job.Device. Its executor and its cache may be used beside
// it.
type Device struct {
	Executor *executor.Executor
	Programs *cache.Cache

	// NewMemory makes the memory of buffers and of large operands. New sets it to that of the
	// executor.
	NewMemory func(size int) (*executor.Memory, error)

	close  func() error
	named  *named.Registry[*named.Buffer]
	closed atomic.Bool
}

var _ job.Device = (*Device)(nil)

// New returns a device. Its Close calls closeGPU, once. buffers are those that it has by
// name; nil: of this process alone, without a limit.
func New(e *executor.Executor, programs *cache.Cache, buffers *named.Registry[*named.Buffer], closeGPU func() error) *Device {
	if buffers == nil {
		buffers = named.NewRegistry[*named.Buffer]("buffer", math.MaxInt64, 0, nil)
	}
	return &Device{Executor: e, Programs: programs, NewMemory: e.NewMemory, named: buffers, close: closeGPU}
}

// Own returns the device, also of what embeds it: for plans, which have jobs of the executor.
func (d *Device) Own() *Device { return d }

// kinds are the errors of a GPU of this process.
var kinds = []kind{
	{shader.ErrContextLost, job.ErrLost}, {executor.ErrTimeout, job.ErrLost},
	{texel.ErrShape, job.ErrInvalid},
}

// Error returns an error of the GPU as one of package job.
func (*Device) Error(err error) error { return withKind(err, kinds, nil) }

// JobError returns an error of the executor or of a plan as one of package job: one that it
// does not know is about the job.
func (*Device) JobError(err error) error {
	if _, ok := errors.AsType[*shader.CompileError](err); ok {
		return err
	}
	for _, known := range []error{job.ErrClosed, job.ErrReleased, job.ErrInvalid, shader.ErrOutOfMemory} {
		if errors.Is(err, known) {
			return err
		}
	}
	return withKind(err, kinds, job.ErrInvalid)
}

func (d *Device) Name() string { return d.Executor.Context().Info().GPU }

// Queued returns the number of jobs that the GPU has not finished.
func (d *Device) Queued() int { return d.Executor.Queued() }

// Drain waits until the GPU has finished what was submitted.
func (d *Device) Drain(ctx context.Context) error { return d.Error(d.Executor.Drain(ctx)) }

func (d *Device) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	d.named.Close()
	return d.close()
}

// err returns job.ErrClosed after Close.
func (d *Device) err() error {
	if d.closed.Load() {
		return job.ErrClosed
	}
	return nil
}

func (d *Device) Get(ctx context.Context, source *shader.Source) (job.Program, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	handle, err := d.Programs.Get(ctx, source)
	if err != nil {
		return nil, d.Error(err)
	}
	return handle, nil
}

// checkProgram returns an error for a program that jobs of the device cannot run.
func (d *Device) checkProgram(p job.Program) error {
	handle, ok := p.(*cache.Handle)
	if !ok {
		return job.Foreign(p)
	}
	return d.Programs.CheckHandle(handle)
}

// ownBuffer is one use of a buffer.
type ownBuffer struct {
	*named.Buffer
	device   *Device
	named    *named.Object[*named.Buffer] // nil: it has no name
	opened   uint64                       // the version then
	created  bool
	released atomic.Bool
}

func (d *Device) NewBuffer(_ context.Context, size int) (job.Buffer, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	b, err := d.newBuffer(size)
	if err != nil {
		return nil, err
	}
	return d.use(b), nil
}

// use returns the first use of a buffer without a name.
func (d *Device) use(b *named.Buffer) *ownBuffer {
	return &ownBuffer{Buffer: b, device: d, created: true}
}

// newBuffer makes a buffer that is all zero.
func (d *Device) newBuffer(size int) (*named.Buffer, error) {
	if err := d.checkSize(size); err != nil {
		return nil, err
	}
	memory, err := d.NewMemory(size)
	if err != nil {
		return nil, d.Error(err)
	}
	return named.NewBuffer(memory, d.Executor.Context()), nil
}

func (d *Device) checkSize(size int) error {
	return job.CheckSize(int64(size), d.Executor.Context().Info().MaxStorage)
}

// NewMapped makes a buffer of the host: see executor.NewMappedMemory. Write and Replace of it fail.
func (d *Device) NewMapped(size int, written bool) (job.Buffer, []byte, error) {
	if err := d.err(); err != nil {
		return nil, nil, err
	}
	memory, mapping, err := d.Executor.NewMappedMemory(size, written)
	if err != nil {
		return nil, nil, d.Error(err)
	}
	return d.use(named.NewBuffer(memory, d.Executor.Context())), mapping, nil
}

func (d *Device) NamedBuffer(ctx context.Context, name string, size int) (job.Buffer, error) {
	if name == "" {
		return nil, fmt.Errorf("%w: a named buffer without a name", job.ErrInvalid)
	}
	opened, err := d.OpenBuffer(name, size, true, false)
	if err != nil {
		return nil, err
	}
	b := opened.(*ownBuffer)
	if err := b.RLock(ctx); err != nil {
		b.Release()
		return nil, err
	}
	defer b.RUnlock()
	b.opened = b.Buffer.Version
	return b, nil
}

// OpenBuffer opens the buffer of a name, of any size where size is 0. create makes it where
// there is none; fresh fails with job.ErrExists where there is one. It does not wait for copies,
// as the version does, which the caller reads.
func (d *Device) OpenBuffer(name string, size int, create, fresh bool) (job.Buffer, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	if create || size != 0 {
		if err := d.checkSize(size); err != nil {
			return nil, err
		}
	}
	var made func() (*named.Buffer, error)
	if create {
		made = func() (*named.Buffer, error) { return d.newBuffer(size) }
	}
	n, created, err := named.OpenBuffer(d.named, name, fresh, size, made)
	if err != nil {
		return nil, err
	}
	return &ownBuffer{Buffer: n.Value, device: d, named: n, created: created}, nil
}

func (d *Device) DeleteBuffer(_ context.Context, name string) error {
	if err := d.err(); err != nil {
		return err
	}
	return d.named.Delete(name)
}

func (b *ownBuffer) Version() uint64 { return b.opened }
func (b *ownBuffer) Created() bool   { return b.created }

func (b *ownBuffer) Release() {
	switch {
	case b.released.Swap(true):
	case b.named != nil:
		b.device.named.Leave(b.named)
	default:
		b.Free()
	}
}

// check returns an error for a range that the buffer has not.
func (b *ownBuffer) check(offset, n int) error {
	switch err := b.device.err(); {
	case err != nil:
		return err
	case b.released.Load():
		return job.ErrReleased
	}
	return job.CheckRange(b.Size(), offset, n)
}

func (b *ownBuffer) Write(ctx context.Context, offset int, data []byte) (uint64, error) {
	return b.write(ctx, offset, data, 0, func() error { return nil })
}

func (b *ownBuffer) Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (uint64, error) {
	return b.write(ctx, offset, data, next, func() error { return b.Expect(expected) })
}

// write copies data where expect allows it, and sets the version to next; 0: the next one.
func (b *ownBuffer) write(ctx context.Context, offset int, data []byte, next uint64, expect func() error) (uint64, error) {
	if err := b.check(offset, len(data)); err != nil {
		return 0, err
	}
	if err := b.Lock(ctx); err != nil {
		return 0, err
	}
	defer b.Unlock()
	if err := expect(); err != nil {
		return 0, err
	}
	b.Buffer.Version++ // also where it fails: which bytes were written is unknown
	if err := b.Memory.UploadInPieces(ctx, offset, data); err != nil {
		return 0, b.device.Error(err)
	}
	if next != 0 {
		b.Buffer.Version = next
	}
	return b.Buffer.Version, nil
}

func (b *ownBuffer) Read(ctx context.Context, offset int, dst []byte) (uint64, error) {
	if err := b.check(offset, len(dst)); err != nil {
		return 0, err
	}
	if err := b.RLock(ctx); err != nil {
		return 0, err
	}
	defer b.RUnlock()
	if err := b.Memory.DownloadInPieces(ctx, offset, dst); err != nil {
		return 0, b.device.Error(err)
	}
	return b.Buffer.Version, nil
}

// BufferOf returns the memory of a buffer for a job of the executor. One of another device of
// this process is refused by the executor.
func BufferOf(b job.Buffer) (*named.Buffer, error) {
	own, ok := b.(*ownBuffer)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: a buffer of another device", job.ErrInvalid)
	case own.released.Load():
		return nil, job.ErrReleased
	}
	return own.Buffer, nil
}
