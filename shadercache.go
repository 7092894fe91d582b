//go:build linux

package shadercache

import (
	"errors"
	"log/slog"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// Options configure [Open] and [New]. The zero value is a good choice: the first
// GPU, else the software driver, and the default cache directory.
type Options struct {
	// Dir is the cache directory, of program binaries and of the driver's own
	// cache. Default: $SHADERCACHE_DIR, else "shadercache" in the user's cache
	// directory. A directory that cannot be used is not an error: programs are
	// then kept in memory, and Logger gets one warning.
	Dir string

	// Device is a GPU's index ("0") or UUID. Default: the first that works.
	Device string

	// Logger receives warnings of the cache and messages of the driver. Default:
	// nothing is logged.
	Logger *slog.Logger

	// NoExecutor leaves GPU.Executor nil. An executor takes 12 MiB of memory by
	// default, half of it on the device.
	NoExecutor bool

	// NoTrials keeps the cache from starting child processes. A program that the driver
	// had when a process ended is suspect: a crash of the driver would end the next
	// process too. So the executable is started once more to try it, as a process that
	// ends before main runs. Packages that are initialised before this one are
	// initialised in it too; it has no arguments, and what it prints is discarded. With
	// NoTrials, in a process with set-user-id, and where no process can be started,
	// suspects are tried in this process, one at a time.
	NoTrials bool

	// Context, Cache and Executor configure the parts. Dir, Device and Logger
	// replace the fields of the same meaning there, where they are set.
	Context  glctx.Options
	Cache    cache.Options
	Executor executor.Options
}

// GPU is an OpenGL context with a cache of programs and an executor over it. The
// caller uses its parts and ends all of them with [GPU.Close].
type GPU struct {
	Context  *glctx.Context
	Cache    *cache.Cache
	Executor *executor.Executor // nil with Options.NoExecutor
}

// Open opens a GL context without a window, on a thread of its own, and a cache and
// an executor over it. The first Open of a process also points the driver's own cache
// at the cache directory. It returns glctx.ErrNoDriver, glctx.ErrTooOld or
// glctx.ErrNoDevice, wrapped, with what to do about it. Close releases the GPU.
func Open(o Options) (*GPU, error) {
	o = o.distribute()
	context, err := glctx.Open(o.Context)
	if err != nil {
		return nil, err
	}
	return New(context, o)
}

// New makes a cache and an executor over a context that is open: an adopted one, or
// one with a window. The GPU owns the context from then on, also when New fails:
// Close closes it, which leaves an adopted context to its owner. Device and
// Options.Context are for the child process alone: see Options.NoTrials.
func New(context *glctx.Context, o Options) (*GPU, error) {
	o = o.distribute()
	if o.Cache.Trier == nil {
		o.Cache.Trier = newTrier(context, o)
	}
	programs, err := cache.New(context, o.Cache)
	if err != nil {
		return nil, errors.Join(err, context.Close())
	}
	gpu := &GPU{Context: context, Cache: programs}
	if o.NoExecutor {
		return gpu, nil
	}
	if gpu.Executor, err = executor.New(context, programs, o.Executor); err != nil {
		return nil, errors.Join(err, gpu.Close())
	}
	return gpu, nil
}

// distribute returns o with its shared fields put into the parts that use them.
func (o Options) distribute() Options {
	if o.Dir != "" {
		o.Context.CacheDir, o.Cache.Dir = o.Dir, o.Dir
	}
	if o.Device != "" {
		o.Context.Device = o.Device
	}
	if o.Logger != nil {
		o.Context.Logger, o.Cache.Logger = o.Logger, o.Logger
	}
	return o
}

// Close waits for pending jobs, stores what was compiled, and closes executor, cache
// and context. It must be called once. Programs that are still in use are an error
// that matches cache.ErrInUse; the context is closed all the same.
func (g *GPU) Close() error {
	var stopped error
	if g.Executor != nil {
		stopped = g.Executor.Close()
	}
	return errors.Join(stopped, g.Cache.Close(), g.Context.Close())
}
