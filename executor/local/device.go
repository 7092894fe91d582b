// Package local makes a GPU of this process a job.Device: jobs go to an executor, programs
// come from a cache.
package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Device is a GPU of this process: a job.Device. Its executor and its cache may be used beside
// it.
type Device struct {
	Executor *executor.Executor
	Programs *cache.Cache

	close func() error

	mu struct {
		sync.Mutex
		named  map[string]*gpuMemory
		closed bool
	}
}

var _ job.Device = (*Device)(nil)

// New returns a device. Its Close calls closeGPU, once.
func New(e *executor.Executor, programs *cache.Cache, closeGPU func() error) *Device {
	d := &Device{Executor: e, Programs: programs, close: closeGPU}
	d.mu.named = map[string]*gpuMemory{}
	return d
}

// Own returns the device, also of what embeds it: for plans, which have jobs of the executor.
func (d *Device) Own() *Device { return d }

// kinds are the errors of a GPU of this process.
var kinds = []kind{
	{cache.ErrClosed, job.ErrClosed}, {executor.ErrClosed, job.ErrClosed}, {shader.ErrClosed, job.ErrClosed},
	{executor.ErrReleased, job.ErrReleased}, {shader.ErrContextLost, job.ErrLost}, {executor.ErrTimeout, job.ErrLost},
}

// Error returns an error of the GPU as one of package job.
func (*Device) Error(err error) error { return deviceError(err) }

func deviceError(err error) error { return withKind(err, kinds, nil) }

// JobError returns an error of the executor or of a plan as one of package job: one that it
// does not know is about the job.
func (*Device) JobError(err error) error { return jobError(err) }

func jobError(err error) error {
	if _, ok := errors.AsType[*shader.CompileError](err); ok {
		return err
	}
	for _, known := range []error{job.ErrReleased, job.ErrInvalid, shader.ErrOutOfMemory} {
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
func (d *Device) Drain(ctx context.Context) error { return deviceError(d.Executor.Drain(ctx)) }

func (d *Device) Close() error {
	d.mu.Lock()
	closed := d.mu.closed
	d.mu.closed = true
	for _, m := range d.mu.named {
		m.leave()
	}
	d.mu.named = nil
	d.mu.Unlock()
	if closed {
		return nil
	}
	return d.close()
}

// err returns job.ErrClosed after Close.
func (d *Device) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return job.ErrClosed
	}
	return nil
}

// ownProgram is a program of a GPU of this process.
type ownProgram struct {
	device   *Device
	handle   cache.Handle
	name     string
	key      shader.Key
	group    [3]uint32
	origin   job.Origin
	beyond   string // what jobs of a Device cannot bind; "" for nothing
	released atomic.Bool
}

func (d *Device) Get(ctx context.Context, source *shader.Source) (job.Program, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	handle, err := d.Programs.Get(ctx, source)
	if err != nil {
		return nil, deviceError(err)
	}
	p := &ownProgram{device: d, name: handle.Name(), key: handle.Key(), group: handle.WorkGroup(), origin: handle.Origin(), beyond: handle.Interface().BeyondBlocks(handle.Name())}
	handle.RetainInto(&p.handle) // one allocation instead of two
	handle.Release()
	return p, nil
}

func (p *ownProgram) Name() string         { return p.name }
func (p *ownProgram) Key() shader.Key      { return p.key }
func (p *ownProgram) WorkGroup() [3]uint32 { return p.group }
func (p *ownProgram) Origin() job.Origin   { return p.origin }

func (p *ownProgram) Release() {
	if !p.released.Swap(true) {
		p.handle.Release()
	}
}

// program returns the handle of a dispatch's program.
func (d *Device) program(of job.Program) (*cache.Handle, error) {
	p, ok := of.(*ownProgram)
	switch {
	case !ok || p.device != d:
		return nil, job.Foreign(of)
	case p.released.Load():
		return nil, fmt.Errorf("program %s: %w", p.name, job.ErrReleased)
	case p.beyond != "":
		return nil, fmt.Errorf("%w: %s", job.ErrInvalid, p.beyond)
	}
	return &p.handle, nil
}

// gpuMemory is a buffer of a GPU of this process, which several of its users may have open.
type gpuMemory struct {
	memory *executor.Memory
	users  atomic.Int32 // and the name

	mu struct {
		sync.Mutex // held while a write changes the version
		version    uint64
	}
}

// leave ends one use.
func (m *gpuMemory) leave() {
	if m.users.Add(-1) == 0 {
		m.memory.Release()
	}
}

// wrote counts a write by a job.
func (m *gpuMemory) wrote() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.version++
}

// ownBuffer is one use of a buffer.
type ownBuffer struct {
	*gpuMemory
	device   *Device
	opened   uint64 // the version then
	created  bool
	released atomic.Bool
}

func (d *Device) NewBuffer(_ context.Context, size int) (job.Buffer, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	m, err := d.newMemory(size)
	if err != nil {
		return nil, err
	}
	m.users.Store(1)
	return &ownBuffer{gpuMemory: m, device: d, created: true}, nil
}

// newMemory makes memory that is all zero.
func (d *Device) newMemory(size int) (*gpuMemory, error) {
	if err := job.CheckSize(int64(size), d.Executor.Context().Info().MaxStorage); err != nil {
		return nil, err
	}
	memory, err := d.Executor.NewMemory(size)
	if err != nil {
		return nil, deviceError(err)
	}
	return &gpuMemory{memory: memory}, nil
}

// NewMapped makes a buffer of the host: see executor.NewMappedMemory. Write and Replace of it fail.
func (d *Device) NewMapped(size int, written bool) (job.Buffer, []byte, error) {
	if err := d.err(); err != nil {
		return nil, nil, err
	}
	memory, mapping, err := d.Executor.NewMappedMemory(size, written)
	if err != nil {
		return nil, nil, deviceError(err)
	}
	m := &gpuMemory{memory: memory}
	m.users.Store(1)
	return &ownBuffer{gpuMemory: m, device: d, created: true}, mapping, nil
}

func (d *Device) NamedBuffer(_ context.Context, name string, size int) (job.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return nil, job.ErrClosed
	}
	if name == "" {
		return nil, fmt.Errorf("%w: a named buffer without a name", job.ErrInvalid)
	}
	m, found := d.mu.named[name]
	if !found {
		var err error
		if m, err = d.newMemory(size); err != nil {
			return nil, err
		}
		m.users.Store(1) // the name
		d.mu.named[name] = m
	}
	if have := m.memory.Size(); have != size {
		return nil, fmt.Errorf("%w: the named buffer %q has %d bytes, not %d", job.ErrExists, name, have, size)
	}
	m.users.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	return &ownBuffer{gpuMemory: m, device: d, opened: m.mu.version, created: !found}, nil
}

func (d *Device) DeleteBuffer(_ context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return job.ErrClosed
	}
	m, found := d.mu.named[name]
	if !found {
		return fmt.Errorf("%w: there is no named buffer %q", job.ErrNotFound, name)
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
		return job.ErrReleased
	}
	return job.CheckRange(b.Size(), offset, n)
}

func (b *ownBuffer) Write(ctx context.Context, offset int, data []byte) (uint64, error) {
	return b.write(ctx, offset, data, func(version uint64) (uint64, error) { return version + 1, nil })
}

func (b *ownBuffer) Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (uint64, error) {
	return b.write(ctx, offset, data, func(version uint64) (uint64, error) {
		if version != expected {
			return 0, fmt.Errorf("%w: the buffer has version %d, expected was %d", job.ErrConflict, version, expected)
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
		return 0, deviceError(err)
	}
	b.mu.version = version
	return version, nil
}

func (b *ownBuffer) Read(ctx context.Context, offset int, dst []byte) (uint64, error) {
	if err := b.check(offset, len(dst)); err != nil {
		return 0, err
	}
	if err := b.memory.DownloadInPieces(ctx, offset, dst); err != nil {
		return 0, deviceError(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.version, nil
}

// Use returns the memory of the buffer for a job of the executor, which writes it or not.
func (b *ownBuffer) Use(writes bool) (*executor.Memory, error) {
	if b.released.Load() {
		return nil, job.ErrReleased
	}
	if writes {
		b.wrote()
	}
	return b.memory, nil
}

// bound returns the memory of a buffer at a binding.
func (d *Device) bound(of *job.Bound) (executor.Bound, error) {
	b, ok := of.Buffer.(*ownBuffer)
	if !ok || b.device != d {
		return executor.Bound{}, job.ForeignBuffer(of.Binding)
	}
	memory, err := b.Use(false)
	if err != nil {
		return executor.Bound{}, fmt.Errorf("buffer at binding %d: %w", of.Binding, err)
	}
	return executor.Bound{Binding: of.Binding, Memory: memory, Offset: of.Offset, Size: of.Size, ReadOnly: of.ReadOnly}, nil
}
