//go:build linux

package shadercache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// servedDevice is the GPU of a server.
type servedDevice struct {
	client *client.Client
	tracer trace.Tracer
	file   *trace.File // that the environment asks for; nil: none
	logger *slog.Logger
}

// servedKinds are the errors of a server and its client.
var servedKinds = []errorKind{
	{client.ErrNoServer, ErrNoServer}, {client.ErrClosed, ErrClosed}, {client.ErrReleased, ErrReleased},
	{client.ErrNoAnswer, ErrLost}, {client.ErrServerGone, ErrLost}, {client.ErrLost, ErrLost}, {client.ErrDraining, ErrLost},
	{client.ErrNotFound, ErrNotFound}, {client.ErrExists, ErrExists}, {client.ErrConflict, ErrConflict}, {client.ErrOtherDevice, ErrOtherDevice},
	{client.ErrQuota, ErrQuota}, {client.ErrOutOfMemory, shader.ErrOutOfMemory},
	{client.ErrCancelled, context.Canceled}, {client.ErrInvalid, ErrInvalid},
}

func servedError(err error) error {
	if _, ok := errors.AsType[*shader.CompileError](err); ok {
		return err
	}
	return withKind(err, servedKinds, nil)
}

// Server returns the session with the server, and Err an error of it as one of this
// package: for packages above this one.
func (d *servedDevice) Server() *client.Client { return d.client }
func (d *servedDevice) Err(err error) error    { return servedError(err) }

func (d *servedDevice) Name() string { return d.client.Welcome().Device }

func (d *servedDevice) Local() (*GPU, error) { return nil, ErrServed }

func (d *servedDevice) Close() error {
	err := d.client.Close()
	if d.file != nil {
		welcome := d.client.Welcome()
		failed := d.file.Write(trace.String("gpu", welcome.Device), trace.String("server", welcome.Server))
		warnOfTrace(d.logger, d.file, failed)
	}
	return err
}

func (d *servedDevice) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Server: true}
	data, err := d.client.Status(ctx)
	if err != nil {
		return stats, servedError(err)
	}
	var status struct {
		Cache cache.Stats `json:"cache"`
	}
	err = json.Unmarshal(data, &status)
	stats.Cache = status.Cache
	return stats, err
}

func (d *servedDevice) Preload(ctx context.Context, sources []*shader.Source, progress func(cache.PreloadResult)) ([]cache.PreloadResult, error) {
	results, tried := make([]cache.PreloadResult, len(sources)), make([]bool, len(sources))
	for i, source := range sources {
		results[i].Name, results[i].Key = source.Name(), source.Key()
	}
	report := func(i int) {
		if tried[i] = true; progress != nil {
			progress(results[i])
		}
	}
	ended := servedError(d.client.Preload(ctx, sources, func(done client.Preloaded) {
		addPreloaded(&results[done.Index], done)
		report(done.Index)
	}))
	for i := range results {
		if !tried[i] {
			results[i].Err = ended
			report(i)
		}
	}
	return results, ended
}

// addPreloaded adds what the server did to the result of one program.
func addPreloaded(r *cache.PreloadResult, done client.Preloaded) {
	if r.Err = servedError(done.Err); r.Err != nil {
		return
	}
	switch r.Origin = cache.ParseOrigin(done.Program.Origin()); r.Origin {
	case cache.Compiled:
		r.CompileNanos = int64(done.Took)
	case cache.Disk, cache.Memory:
		r.LoadNanos = int64(done.Took)
	}
}

// servedProgram is a program of a server.
type servedProgram struct {
	*client.Program
	device *servedDevice
}

func (d *servedDevice) Get(ctx context.Context, source *shader.Source) (Program, error) {
	get := trace.Begin(d.tracer, trace.Requests, 0, trace.Get)
	if get.IsOn() {
		get.About(source.Name(), source.Key().String())
	}
	defer func() { get.End() }()
	p, err := d.client.Program(ctx, source)
	if err != nil {
		return nil, servedError(err)
	}
	return &servedProgram{p, d}, nil
}

// Origin returns the origin by the name that the server gives it.
func (p *servedProgram) Origin() cache.Origin { return cache.ParseOrigin(p.Program.Origin()) }

// servedBuffer is a buffer of a server.
type servedBuffer struct {
	*client.Buffer
	device *servedDevice
}

// Served returns the client's buffer, for packages above this one.
func (b *servedBuffer) Served() *client.Buffer { return b.Buffer }

func (d *servedDevice) NewBuffer(ctx context.Context, size int) (Buffer, error) {
	return d.buffer(d.client.NewBuffer(ctx, size))
}

func (d *servedDevice) NamedBuffer(ctx context.Context, name string, size int) (Buffer, error) {
	if name == "" {
		return nil, fmt.Errorf("%w: a named buffer without a name", ErrInvalid)
	}
	return d.buffer(d.client.NamedBuffer(ctx, name, size))
}

func (d *servedDevice) buffer(b *client.Buffer, err error) (Buffer, error) {
	if err != nil {
		return nil, servedError(err)
	}
	return &servedBuffer{b, d}, nil
}

func (d *servedDevice) DeleteBuffer(ctx context.Context, name string) error {
	return servedError(d.client.DeleteBuffer(ctx, name))
}

// check returns an error for a range that no copy has: the protocol has 0 bytes for the
// rest of the buffer.
func (b *servedBuffer) check(offset, n int) error {
	if n == 0 || offset < 0 || n > b.Size()-offset {
		return fmt.Errorf("%w: bytes %d to %d of a buffer of %d", ErrInvalid, offset, offset+n, b.Size())
	}
	return nil
}

func (b *servedBuffer) Write(ctx context.Context, offset int, data []byte) (uint64, error) {
	if err := b.check(offset, len(data)); err != nil {
		return 0, err
	}
	version, err := b.Upload(ctx, offset, data)
	return version, servedError(err)
}

// Replace replaces the method of the client's buffer, for its errors.
func (b *servedBuffer) Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (uint64, error) {
	if err := b.check(offset, len(data)); err != nil {
		return 0, err
	}
	version, err := b.Buffer.Replace(ctx, offset, data, expected, next)
	return version, servedError(err)
}

func (b *servedBuffer) Read(ctx context.Context, offset int, dst []byte) (uint64, error) {
	if err := b.check(offset, len(dst)); err != nil {
		return 0, err
	}
	version, err := b.Download(ctx, offset, dst)
	return version, servedError(err)
}
