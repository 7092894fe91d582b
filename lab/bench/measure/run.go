// Package measure opens GPUs for benchmarks, and has the counters of this process that they
// report.
package measure

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/executor"
)

// Measure measures on an open GPU and returns its result. The context ends at an
// interrupt.
type Measure[R any] func(ctx context.Context, g *cli.GPU, h bench.Header) (R, error)

// Own returns the options with a cache directory that benchmarks have for themselves,
// below the user's, and without a remote: their programs and figures are none of the
// user's. Without a directory they are those of the caller.
func Own(o *cli.Options) *cli.Options {
	own := *o
	own.NoRemote = true
	if dir, err := o.Directory(); err == nil {
		own.Dir = bench.Dir(dir)
	}
	return &own
}

// OnGPU opens a GPU with the cache of the benchmarks, calls measure and closes the GPU.
func OnGPU[R any](o *cli.Options, measure Measure[R]) (R, error) {
	return onOpened(func() (*cli.GPU, error) { return Own(o).OpenGPU(cache.Options{}) }, measure)
}

// OnExecutor opens a GPU with an executor, calls measure and closes both.
func OnExecutor[R any](o *cli.Options, measure Measure[R]) (R, error) {
	return onOpened(func() (*cli.GPU, error) { return Own(o).OpenExecutor(executor.Options{}) }, measure)
}

func onOpened[R any](open func() (*cli.GPU, error), measure Measure[R]) (r R, err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	origin := cli.NewOrigin() // before the GPU is opened, so that its load is not the benchmark's
	g, err := open()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	return measure(ctx, g, NewHeader(g, origin))
}

// NewHeader returns the header for a GPU.
func NewHeader(g *cli.GPU, origin cli.Origin) bench.Header {
	return bench.Header{GPU: g.Name(), Driver: g.Driver(), Origin: origin}
}
