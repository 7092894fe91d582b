package shadercache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor/local"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// Device runs jobs on a GPU: of this process, or of a server that has the context. [Connect]
// returns one; package job has what both do, and conv2d plans over them.
type Device interface {
	job.Device

	// Preload makes the programs of all sources resident, without handles, as
	// cache.Cache.Preload does. A server compiles one after the other.
	Preload(ctx context.Context, sources []*shader.Source, progress func(cache.PreloadResult)) ([]cache.PreloadResult, error)

	// Stats returns the state of the cache: of the whole server where there is one, with
	// counters since its start.
	Stats(ctx context.Context) (Stats, error)

	// Local returns the parts of a GPU of this process, or ErrServed.
	Local() (*GPU, error)
}

// AsDevice returns the GPU as a Device. Closing either closes both: close one of them. It
// panics where there is no executor.
func (g *GPU) AsDevice() Device {
	if g.Executor == nil {
		panic("shadercache: AsDevice of a GPU without an executor")
	}
	return &ownDevice{local.New(g.Executor, g.Cache, nil, g.Close), g}
}

// ownDevice is a GPU of this process as a Device.
type ownDevice struct {
	*local.Device
	gpu *GPU
}

func (d *ownDevice) Local() (*GPU, error) { return d.gpu, nil }

func (d *ownDevice) Stats(context.Context) (Stats, error) { return d.gpu.Stats(), nil }

func (d *ownDevice) Preload(ctx context.Context, sources []*shader.Source, progress func(cache.PreloadResult)) ([]cache.PreloadResult, error) {
	results, err := d.gpu.Cache.Preload(ctx, sources, progress)
	return results, d.Error(err)
}

// What a job is: see package job.
type (
	Program  = job.Program
	Buffer   = job.Buffer
	Pending  = job.Pending
	Job      = job.Job
	Dispatch = job.Dispatch
	Bound    = job.Bound
	Input    = job.Input
	Output   = job.Output
	Uniform  = job.Uniform
)

// Int returns a value for an int or bool uniform.
func Int(name string, v int32) Uniform { return job.Int(name, v) }

// Uint returns a value for a uint uniform.
func Uint(name string, v uint32) Uniform { return job.Uint(name, v) }

// Float returns a value for a float uniform.
func Float(name string, v float32) Uniform { return job.Float(name, v) }

// Errors of a [Device]: those of package job, and these. They are returned wrapped.
var (
	ErrClosed      = job.ErrClosed
	ErrReleased    = job.ErrReleased
	ErrInvalid     = job.ErrInvalid
	ErrLost        = job.ErrLost
	ErrNotFound    = job.ErrNotFound
	ErrExists      = job.ErrExists
	ErrConflict    = job.ErrConflict
	ErrQuota       = job.ErrQuota
	ErrOtherDevice = job.ErrOtherDevice

	// ErrNoServer is returned by Connect where Options.Server names a server that does not
	// run.
	ErrNoServer = job.ErrNoServer

	// ErrServed is returned by Device.Local for a server, which has the GL context.
	ErrServed = errors.New("the GL context is a server's: a program that needs its own uses Open, or Options.Server off")
)
