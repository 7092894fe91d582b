package shadercache

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// servedDevice is the GPU of a server.
type servedDevice struct {
	*client.Client
	tracer trace.Tracer
	file   *trace.File // that the environment asks for; nil: none
	logger *slog.Logger
}

func (d *servedDevice) Local() (*GPU, error) { return nil, ErrServed }

func (d *servedDevice) Close() error {
	err := d.Client.Close()
	if d.file != nil {
		welcome := d.Client.Welcome()
		failed := d.file.Write(trace.String("gpu", welcome.Device), trace.String("server", welcome.Server))
		warnOfTrace(d.logger, d.file, failed)
	}
	return err
}

func (d *servedDevice) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Server: true}
	data, err := d.Client.Status(ctx)
	if err != nil {
		return stats, err
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
	ended := d.Client.Preload(ctx, sources, func(done client.Preloaded) {
		addPreloaded(&results[done.Index], done)
		report(done.Index)
	})
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
	if r.Err = done.Err; r.Err != nil {
		return
	}
	switch r.Origin = done.Program.Origin(); r.Origin {
	case job.Compiled:
		r.CompileNanos = int64(done.Took)
	case job.Disk, job.Memory:
		r.LoadNanos = int64(done.Took)
	}
}

func (d *servedDevice) Get(ctx context.Context, source *shader.Source) (Program, error) {
	get := trace.Begin(d.tracer, trace.Requests, 0, trace.Get)
	if get.IsOn() {
		get.About(source.Name(), source.Key().String())
	}
	defer func() { get.End() }()
	return d.Client.Get(ctx, source)
}

func (d *servedDevice) Submit(ctx context.Context, j *Job) (Pending, error) {
	submit := trace.Begin(d.tracer, trace.Server, 0, trace.Send)
	p, err := d.Client.Submit(ctx, j)
	submit.End()
	if err != nil {
		return nil, err
	}
	return &servedPending{p, submit}, nil
}

func (d *servedDevice) Run(ctx context.Context, j *Job) error {
	pending, err := d.Submit(ctx, j)
	return job.Wait(ctx, pending, err)
}

// servedPending is a job of a server.
type servedPending struct {
	Pending
	submit trace.Region // has ended
}

// Wait replaces the method of the client's pending, for the trace.
func (p *servedPending) Wait(ctx context.Context) error {
	await := p.submit.Begin(trace.Await)
	defer func() { await.End() }()
	return p.Pending.Wait(ctx)
}

func init() {
	dialServer = func(ctx context.Context, o Options, from, name string) (Device, error) {
		if err := client.CheckName(from, name); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		return o.dial(ctx, name)
	}
}

// dial connects to a server.
func (o Options) dial(ctx context.Context, name string) (Device, error) {
	traced, file := o.startTrace()
	connect := trace.Begin(traced.Tracer, trace.Server, 0, trace.Connect)
	defer func() { connect.End() }()
	c, err := client.Reach(ctx, client.Options{Path: name, Device: o.ServerDevice, Near: o.ServerNear})
	if err != nil {
		return nil, err
	}
	return &servedDevice{c, traced.Tracer, file, o.Logger}, nil
}
