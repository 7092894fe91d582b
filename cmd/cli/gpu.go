package cli

import (
	"fmt"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/glctx"
)

// GPU is an open GPU whose cache is stored when the process is interrupted.
type GPU struct{ *shadercache.GPU }

// ContextOptions returns the options of a context that the global flags ask for.
func (o *Options) ContextOptions() glctx.Options {
	return glctx.Options{
		Device:         o.Device,
		Kind:           o.API.Kind,
		CacheDir:       o.Dir,
		Filled:         o.Place().Filled,
		DriverCacheOff: !bool(o.DriverCache),
		Tracer:         o.Tracer(),

		NoCompilerThreads: o.NoCompilerThreads,
		Logger:            o.Logger(),
	}
}

// OpenGPU opens a GPU without an executor.
func (o *Options) OpenGPU(c cache.Options) (*GPU, error) {
	return o.Open(shadercache.Options{NoExecutor: true, Cache: c})
}

// OpenExecutor opens a GPU with an executor.
func (o *Options) OpenExecutor(e executor.Options) (*GPU, error) {
	return o.Open(shadercache.Options{Executor: e})
}

// Open opens the GPU that the global flags choose. An unusable cache directory is not an
// error: programs are kept in memory and a warning is logged.
func (o *Options) Open(options shadercache.Options) (*GPU, error) {
	gpu, err := shadercache.Open(o.frontDoor(options))
	if err != nil {
		return nil, err
	}
	ClearMarksOnInterrupt(gpu.Cache)
	return &GPU{gpu}, nil
}

// frontDoor returns options with those of the global flags.
func (o *Options) frontDoor(options shadercache.Options) shadercache.Options {
	context := o.ContextOptions()
	context.CacheDir = "" // it is Options.Dir
	options.Dir, options.Context, options.Logger, options.Cache.RecordCrashes = o.Dir, context, o.Logger(), true
	if o.NoRemote {
		options.Remote.Mode = fleet.Off
	}
	return options
}

// Close writes pending records, closes the context, and pushes to the remote, where that
// is allowed. A directory that cannot be written was logged already and is not an error.
func (g *GPU) Close() error {
	if g.Executor != nil {
		_ = g.Executor.Close() // GPU.Close returns its error
	}
	_ = g.Cache.Close() // the error of programs in use is that of GPU.Close too
	return g.GPU.Close()
}

// Name returns the GPU's name.
func (g *GPU) Name() string { return g.Context.Info().GPU }

// Driver returns the driver and its build.
func (g *GPU) Driver() string { return g.Context.Info().Driver }

// DriverCacheState returns where the driver's own cache is and what it holds now. A
// benchmark calls it before the work that it measures.
func (g *GPU) DriverCacheState() string {
	where := g.Context.DriverCache()
	if !where.Managed {
		return where.String()
	}
	return DriverCacheFill(where.Dir) + ", " + where.String()
}

// DriverCacheFill returns what the driver's own cache in a folder holds.
func DriverCacheFill(dir string) string {
	if bytes := drivercache.Bytes(dir); bytes > 0 {
		return "warm, " + ReadableBytes(bytes)
	}
	return "empty"
}

// GPUMemoryText describes the memory of a GPU, and returns "" where it is not known.
func GPUMemoryText(m cache.GPUMemory) string {
	switch {
	case m == cache.GPUMemory{}:
		return ""
	case m.Total == 0:
		return ReadableBytes(m.Free) + " free"
	}
	return fmt.Sprintf("%s free of %s", ReadableBytes(m.Free), ReadableBytes(m.Total))
}
