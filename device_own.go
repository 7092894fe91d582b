package shadercache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/shader"
)

// ownDevice is a GPU of this process as a Device.
type ownDevice struct {
	gpu *GPU

	mu struct {
		sync.Mutex
		named  map[string]*ownMemory
		closed bool
	}
}

// AsDevice returns the GPU as a Device. Closing either closes both: close one of them. It
// panics where there is no executor.
func (g *GPU) AsDevice() Device {
	if g.Executor == nil {
		panic("shadercache: AsDevice of a GPU without an executor")
	}
	d := &ownDevice{gpu: g}
	d.mu.named = map[string]*ownMemory{}
	return d
}

// ownKinds are the errors of a GPU of this process.
var ownKinds = []errorKind{
	{cache.ErrClosed, ErrClosed}, {executor.ErrClosed, ErrClosed}, {shader.ErrClosed, ErrClosed},
	{executor.ErrReleased, ErrReleased}, {shader.ErrContextLost, ErrLost}, {executor.ErrTimeout, ErrLost},
}

func ownError(err error) error { return withKind(err, ownKinds, nil) }

// Err is jobError, for packages above this one.
func (d *ownDevice) Err(err error) error { return jobError(err) }

// jobError is ownError for a job or a plan: an error that it does not know is about that.
func jobError(err error) error {
	if _, ok := errors.AsType[*shader.CompileError](err); ok {
		return err
	}
	for _, known := range []error{ErrReleased, ErrInvalid, shader.ErrOutOfMemory} {
		if errors.Is(err, known) {
			return err
		}
	}
	return withKind(err, ownKinds, ErrInvalid)
}

func (d *ownDevice) Name() string { return d.gpu.Context.Info().GPU }

// Queued returns the number of jobs that the GPU has not finished, for packages above
// this one.
func (d *ownDevice) Queued() int { return d.gpu.Executor.Queued() }

// Drain waits until the GPU has finished what was submitted, for packages above this one.
func (d *ownDevice) Drain(ctx context.Context) error { return ownError(d.gpu.Executor.Drain(ctx)) }

func (d *ownDevice) Local() (*GPU, error) { return d.gpu, nil }

func (d *ownDevice) Stats(context.Context) (Stats, error) { return d.gpu.Stats(), nil }

func (d *ownDevice) Preload(ctx context.Context, sources []*shader.Source, progress func(cache.PreloadResult)) ([]cache.PreloadResult, error) {
	results, err := d.gpu.Cache.Preload(ctx, sources, progress)
	return results, ownError(err)
}

func (d *ownDevice) Close() error {
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
	return d.gpu.Close()
}

// err returns ErrClosed after Close.
func (d *ownDevice) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.closed {
		return ErrClosed
	}
	return nil
}

// ownProgram is a program of a GPU of this process.
type ownProgram struct {
	device   *ownDevice
	handle   cache.Handle
	name     string
	key      shader.Key
	group    [3]uint32
	origin   cache.Origin
	released atomic.Bool
}

func (d *ownDevice) Get(ctx context.Context, source *shader.Source) (Program, error) {
	handle, err := d.gpu.Cache.Get(ctx, source)
	if err != nil {
		return nil, ownError(err)
	}
	p := &ownProgram{device: d, name: handle.Name(), key: handle.Key(), group: handle.WorkGroup(), origin: handle.Origin()}
	handle.RetainInto(&p.handle) // one allocation instead of two
	handle.Release()
	return p, nil
}

func (p *ownProgram) Name() string         { return p.name }
func (p *ownProgram) Key() shader.Key      { return p.key }
func (p *ownProgram) WorkGroup() [3]uint32 { return p.group }
func (p *ownProgram) Origin() cache.Origin { return p.origin }

func (p *ownProgram) Release() {
	if !p.released.Swap(true) {
		p.handle.Release()
	}
}

// program returns the handle of a dispatch's program.
func (d *ownDevice) program(of Program) (*cache.Handle, error) {
	p, ok := of.(*ownProgram)
	switch {
	case !ok || p.device != d:
		return nil, fmt.Errorf("%w: a dispatch without a program of this device", ErrInvalid)
	case p.released.Load():
		return nil, fmt.Errorf("program %s: %w", p.name, ErrReleased)
	}
	return &p.handle, nil
}
