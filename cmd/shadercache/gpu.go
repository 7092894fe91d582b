package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// gpu is an open GL context with a cache of programs over it.
type gpu struct {
	context     *glctx.Context
	cache       *cache.Cache
	executor    *executor.Executor // nil without openExecutor
	contextTime time.Duration      // what opening the context took
}

// glOptions are the options of a context as the global flags have it.
func (o *options) glOptions() glctx.Options {
	return glctx.Options{
		Device:         o.device,
		CacheDir:       o.dir,
		DriverCacheOff: !bool(o.driverCache),
		Logger:         o.logger(),
	}
}

// openGPU opens the context and the cache. A cache directory that cannot be
// used is no failure: the cache says so once and works in memory only.
func (o *options) openGPU(c cache.Options) (*gpu, error) {
	start := time.Now()
	context, err := glctx.Open(o.glOptions())
	if err != nil {
		return nil, err
	}
	g := &gpu{context: context, contextTime: time.Since(start)}
	c.Dir, c.Logger, c.RecordCrashes = o.dir, o.logger(), true
	if g.cache, err = cache.New(context, c); err != nil {
		return nil, errors.Join(err, context.Close())
	}
	interruptions.opened(g.cache)
	return g, nil
}

// openExecutor is openGPU, with an executor over both.
func (o *options) openExecutor(e executor.Options) (*gpu, error) {
	g, err := o.openGPU(cache.Options{})
	if err != nil {
		return nil, err
	}
	if g.executor, err = executor.New(g.context, g.cache, e); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// close records what the cache learned and takes the context down. What the
// directory does not take was reported already and is no failure.
func (g *gpu) close() error {
	var stopped error
	if g.executor != nil {
		stopped = g.executor.Close()
	}
	err := g.cache.Close()
	interruptions.closed(g.cache)
	if !errors.As(err, new(*cache.InUseError)) {
		err = nil
	}
	return errors.Join(stopped, err, g.context.Close())
}

// name is the GPU for people.
func (g *gpu) name() string { return g.context.Info().GPU }

// driver is the driver and its build.
func (g *gpu) driver() string { return g.context.Info().Driver }

// driverCache is where the driver's own cache is and what it holds now; to be asked
// for before the work that is measured.
func (g *gpu) driverCache() string {
	where := g.context.DriverCache()
	if !where.Managed {
		return where.String()
	}
	bytes := treeBytes(where.Dir)
	if bytes == 0 {
		return "empty, " + where.String()
	}
	return "warm, " + readableBytes(bytes) + ", " + where.String()
}

// driverNow identifies the driver that works now, and leaves the driver's own
// cache alone, so that it may be merged afterwards.
func (o *options) driverNow() (binary.Fingerprint, error) {
	options := o.glOptions()
	options.DriverCacheOff = true
	context, err := glctx.Open(options)
	if err != nil {
		return binary.Fingerprint{}, fmt.Errorf("which driver works now cannot be told: %w", err)
	}
	return context.Fingerprint(), context.Close()
}
