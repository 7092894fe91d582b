//go:build linux && cgo

package glctx

import (
	"context"
	"log/slog"
	"sync/atomic"
	"unsafe"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// debugSink logs KHR_debug messages. Drivers call it on the GL thread or on threads
// of their own.
type debugSink struct {
	logger         atomic.Pointer[slog.Logger]
	onlyDebugLevel bool // not a debug context
}

var debugLevels = map[uint32]slog.Level{
	gl45.DEBUG_SEVERITY_HIGH:         slog.LevelError,
	gl45.DEBUG_SEVERITY_MEDIUM:       slog.LevelWarn,
	gl45.DEBUG_SEVERITY_LOW:          slog.LevelInfo,
	gl45.DEBUG_SEVERITY_NOTIFICATION: slog.LevelDebug,
}

// startDebugOutput sends the driver's debug messages to the logger. It does nothing in
// an adopted context, whose owner may have set a callback. It does nothing either
// where the logger would discard the messages: a driver may send one for every copy,
// and each costs microseconds and allocations.
func (gl *GL) startDebugOutput() {
	if gl.c.options.Logger == nil || gl.c.schedule != nil {
		return
	}
	if !gl.c.options.Debug && !gl.c.logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	callback := gl.c.info.debugMessageCallback()
	if callback == nil {
		return
	}
	sink := &debugSink{onlyDebugLevel: !gl.c.options.Debug}
	sink.logger.Store(gl.c.logger)
	gl.c.debug = sink
	if gl.c.options.Debug {
		gl45.Enable(gl45.DEBUG_OUTPUT_SYNCHRONOUS)
	}
	gl45.Enable(gl45.DEBUG_OUTPUT)
	callback(sink.receive, nil)
}

// debugMessageCallback returns the call for debug output by its name in this context, or
// nil where there is none.
func (i Info) debugMessageCallback() func(gl45.DebugProc, unsafe.Pointer) {
	switch {
	case i.is(OpenGL, 4, 3), i.is(OpenGLES, 3, 2):
		return gl45.DebugMessageCallback
	case i.Has("GL_KHR_debug"):
		return gl45.DebugMessageCallbackKHR
	}
	return nil
}

func (gl *GL) stopDebugOutput() {
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
	if s.onlyDebugLevel {
		// Failures are returned as errors as well, such as a source that does not
		// compile or a binary that is rejected.
		level = slog.LevelDebug
	}
	logger.Log(context.Background(), level, "OpenGL: "+message, "id", id)
}
