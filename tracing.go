package shadercache

import (
	"log/slog"

	"github.com/shadercache/shadercache/trace"
)

// startTrace returns the options with the tracer of all parts, and the file that the
// environment asks for, which is nil where the caller has a Tracer.
func (o Options) startTrace() (Options, *trace.File) {
	var file *trace.File
	if o.Tracer == nil && !o.Cache.InTrial && !isPrivileged() {
		if file = trace.FromEnvironment(); file != nil {
			o.Tracer = file
		}
	}
	o.Context.Tracer, o.Cache.Tracer = o.Tracer, o.Tracer
	o.Executor.Tracer, o.Remote.Tracer = o.Tracer, o.Tracer
	return o, file
}

// writeTrace writes the file of the environment. A failure is a warning.
func (g *GPU) writeTrace() {
	if g.trace == nil {
		return
	}
	info := g.Context.Info()
	err := g.trace.Write(trace.String("gpu", info.GPU), trace.String("driver", info.Driver),
		trace.String("driver_cache", g.Context.DriverCache().String()))
	warnOfTrace(g.logger, g.trace, err)
}

// warnOfTrace logs that a trace was not written. logger may be nil.
func warnOfTrace(logger *slog.Logger, file *trace.File, err error) {
	if err != nil && logger != nil {
		logger.Warn("the trace was not written", "file", file.Path(), "error", err)
	}
}
