//go:build linux

package server

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/trace"
)

// Options configure a [Server]. The zero value is a good choice.
type Options struct {
	// Limits are the quotas of each session. Default of each field: see defaultLimits.
	Limits wire.Limits

	// Sessions is the number of sessions at a time. Default: 256.
	Sessions int

	// IdleExit is the time without a session after which Serve returns ErrIdle; named
	// buffers and plans end with it. Default: 0, never.
	IdleExit time.Duration

	// NamedTime is the time after which a named buffer or plan that no session has open
	// is deleted. Default: 10 min.
	NamedTime time.Duration

	// HangTime is the time without progress of the GPU after which the context counts as
	// lost. The executor's Options.Timeout should be CompileTime: it makes no progress
	// either while the GL thread compiles. Default: 10 s.
	HangTime time.Duration

	// CompileTime limits the time in which a program compiles, and HangTime with the time that
	// compiling adds to it. Default: 10 min.
	CompileTime time.Duration

	// ReadTime is the time in which a client has to send its hello, and in which a client
	// has to begin to read its replies when there is no room for more. Default: 10 s.
	ReadTime time.Duration

	// CopyMemory copies operands in shared memory also where the driver could use the
	// memory in place (GL_AMD_pinned_memory). Kernels that read such operands more than
	// once are faster then on a GPU with memory of its own. Default: in place.
	CopyMemory bool

	// Generation numbers the worker process, and Ended tells clients why the one before
	// it ended. Defaults: 1, and nothing.
	Generation uint64
	Ended      string

	// Device is the server's GPU among those of several workers. Default: the only one.
	Device Device

	// Names keeps the names of buffers unique among several workers. Default: this server
	// is the only one.
	Names Names

	// SessionEnded is called at the end of each connection that Serve accepted, also of one
	// that was refused. Default: nothing is called.
	SessionEnded func()

	// Version is the version of the server, for clients. Default: "(devel)".
	Version string

	// Tracer receives the steps of each job: see package trace. Default: nothing is
	// measured.
	Tracer trace.Tracer

	// Logger receives the start and end of sessions at debug level, and failures of the
	// server. Default: nothing is logged.
	Logger *slog.Logger
}

// MaxCompileTime is the default of Options.CompileTime.
const MaxCompileTime = 10 * time.Minute

var defaultLimits = wire.Limits{
	Jobs:     256,
	Objects:  1024,
	Memory:   4 << 30,
	Buffers:  1 << 30,
	Named:    4 << 30,
	Deadline: uint64(30 * time.Second),
	Longest:  uint64(10 * time.Minute),
}

func (o Options) withDefaults() Options {
	l, d := &o.Limits, &defaultLimits
	l.Jobs, l.Objects, l.Memory = cmp.Or(l.Jobs, d.Jobs), cmp.Or(l.Objects, d.Objects), cmp.Or(l.Memory, d.Memory)
	l.Buffers, l.Named = cmp.Or(l.Buffers, d.Buffers), cmp.Or(l.Named, d.Named)
	l.Deadline, l.Longest = cmp.Or(l.Deadline, d.Deadline), cmp.Or(l.Longest, d.Longest)
	o.Sessions = cmp.Or(o.Sessions, 256)
	o.NamedTime = cmp.Or(o.NamedTime, 10*time.Minute)
	o.HangTime = cmp.Or(o.HangTime, 10*time.Second)
	o.CompileTime = cmp.Or(o.CompileTime, MaxCompileTime)
	o.ReadTime = cmp.Or(o.ReadTime, 10*time.Second)
	o.Generation = cmp.Or(o.Generation, 1)
	o.Version = cmp.Or(o.Version, "(devel)")
	o.Device.Count = cmp.Or(o.Device.Count, 1)
	if o.SessionEnded == nil {
		o.SessionEnded = func() {}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}
