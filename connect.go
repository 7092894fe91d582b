package shadercache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

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

// Connect returns a device: a server, where Options.Server or $SHADERCACHE_SERVER says so,
// and else the GPU that Open opens. With a server this process opens no GL context and
// loads no driver.
//
// A server has a cache directory, a remote and a GPU of its own: the other options are for
// a GPU of this process. Where a Device is chosen, auto and start choose this process, and
// a path is an error.
//
// It returns ErrNoServer for a path where no server runs, the server's reason for refusing
// this process, and the errors of Open. ctx limits the time to connect and to start.
func Connect(ctx context.Context, o Options) (Device, error) {
	if o.NoExecutor {
		return nil, fmt.Errorf("shadercache: connect: %w: a Device has an executor; Options.NoExecutor is for Open", ErrInvalid)
	}
	from, name, err := o.serverName()
	if err != nil {
		return nil, fmt.Errorf("shadercache: connect: %w", err)
	}
	if name != "off" {
		device, err := dialServer(ctx, o, from, name)
		if err == nil {
			return device, nil
		}
		if !o.mayOpen(name, err) {
			return nil, fmt.Errorf("shadercache: connect: %w", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("shadercache: connect: %w", err)
	}
	o.Server = "off"
	gpu, err := Open(o)
	if err != nil {
		return nil, err
	}
	return gpu.AsDevice(), nil
}

// dialServer connects to a server, which it starts where name says so. from is where the name
// comes from.
var dialServer = func(context.Context, Options, string, string) (Device, error) {
	return nil, fmt.Errorf("%w: there are servers on Linux only", ErrNoServer)
}

// serverName returns the server to use, one of the words or a path, and where its name comes
// from.
func (o Options) serverName() (from, name string, err error) {
	from, name = "Options.Server", o.Server
	if name == "" && !isPrivileged() {
		from, name = "SHADERCACHE_SERVER", os.Getenv("SHADERCACHE_SERVER")
	}
	name = cmp.Or(name, "off")
	byWord, hasDevice := name == "auto" || name == "start", o.Device != "" || o.Context.Device != ""
	switch {
	case byWord && (hasDevice || isPrivileged()): // a user must not choose what answers a privileged process
		return from, "off", nil
	case name == "off" || !hasDevice:
		return from, name, nil
	}
	return from, "", fmt.Errorf("%w: a server has its own GPU: Options.Device and the server %s exclude each other", ErrInvalid, name)
}

// mayOpen reports whether a GPU of this process is used after an error of the server, and
// logs the error.
func (o Options) mayOpen(name string, err error) bool {
	if name != "auto" && name != "start" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	logger, level := o.Logger, slog.LevelWarn
	if name == "auto" && errors.Is(err, ErrNoServer) {
		level = slog.LevelDebug
	}
	if logger != nil {
		logger.Log(context.Background(), level, "no server is used", "reason", err)
	}
	return true
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
