//go:build linux

package glctx

import (
	"context"
	"log/slog"
	"sync/atomic"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// debugSink passes KHR_debug messages on. Drivers call back on the GL thread,
// or on threads of their own.
type debugSink struct {
	logger atomic.Pointer[slog.Logger]
	quiet  bool // not a debug context
}

var debugLevels = map[uint32]slog.Level{
	gl45.DEBUG_SEVERITY_HIGH:         slog.LevelError,
	gl45.DEBUG_SEVERITY_MEDIUM:       slog.LevelWarn,
	gl45.DEBUG_SEVERITY_LOW:          slog.LevelInfo,
	gl45.DEBUG_SEVERITY_NOTIFICATION: slog.LevelDebug,
}

// listen sends the driver's debug messages to the logger. An adopted context is
// left alone: its owner may listen already. A driver may have something to say
// about every copy, and each message costs microseconds and allocations, so nobody
// listens where the logger would drop what is said.
func (gl *GL) listen() {
	if gl.c.options.Logger == nil || gl.c.schedule != nil {
		return
	}
	if !gl.c.options.Debug && !gl.c.logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	sink := &debugSink{quiet: !gl.c.options.Debug}
	sink.logger.Store(gl.c.logger)
	gl.c.debug = sink
	if gl.c.options.Debug {
		gl45.Enable(gl45.DEBUG_OUTPUT_SYNCHRONOUS)
	}
	gl45.Enable(gl45.DEBUG_OUTPUT)
	gl45.DebugMessageCallback(sink.receive, nil)
}

func (gl *GL) unlisten() {
	if gl.c.debug == nil {
		return
	}
	gl45.Disable(gl45.DEBUG_OUTPUT)
	gl.c.debug.logger.Store(nil)
}

func (s *debugSink) receive(source, kind, id, severity uint32, length int32, message string, _ unsafe.Pointer) {
	logger := s.logger.Load()
	if logger == nil {
		return
	}
	level, known := debugLevels[severity]
	if !known {
		level = slog.LevelWarn
	}
	if s.quiet {
		// Whatever fails is returned as an error too: a source that does not
		// compile, a binary that is refused and replaced.
		level = slog.LevelDebug
	}
	logger.Log(context.Background(), level, "OpenGL: "+message, "id", id)
}
