//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/shader"
)

// ErrIdle is returned by Serve when there was no session for Options.IdleExit.
var ErrIdle = errors.New("server: no client for the time of idle exit")

// LostError is returned by Serve when the GL context cannot be used any more. The process
// has to end, without closing the GPU: its thread may never return from the driver.
type LostError struct{ Reason string }

func (e *LostError) Error() string { return "server: the GL context is lost: " + e.Reason }

const lostHint = "the server starts again: connect, and make programs and buffers again"

// reply returns the error that ends a session.
func (e *LostError) reply() *wire.Error {
	return &wire.Error{Code: wire.CodeLost, Message: e.Reason, Hint: lostHint}
}

// reject returns the error of a request that is answered with it.
func reject(code wire.Code, format string, args ...any) *wire.Error {
	return &wire.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func notFound(kind string, id uint32) *wire.Error {
	return reject(wire.CodeNotFound, "the session has no %s %d", kind, id)
}

// asReply returns the reply for an error of a request. otherwise is the code of errors
// that have none of their own.
func asReply(err error, otherwise wire.Code) *wire.Error {
	if reply, ok := errors.AsType[*wire.Error](err); ok {
		return reply
	}
	if failure, ok := errors.AsType[*shader.CompileError](err); ok {
		return &wire.Error{Code: wire.CodeCompile, Message: failure.Log}
	}
	reply := &wire.Error{Code: otherwise, Message: err.Error()}
	switch {
	case errors.Is(err, wire.ErrMalformed):
		reply.Code = wire.CodeMalformed
	case isLost(err):
		reply.Code, reply.Hint = wire.CodeLost, lostHint
	case errors.Is(err, shader.ErrOutOfMemory):
		reply.Code, reply.Hint = wire.CodeOutOfMemory, "release buffers, or delete named ones"
	case errors.Is(err, job.ErrInvalid):
		reply.Code = wire.CodeInvalid
	case errors.Is(err, context.Canceled):
		reply.Code = wire.CodeCancelled
	case errors.Is(err, context.DeadlineExceeded):
		reply.Code = wire.CodeDeadline
	case errors.Is(err, socket.ErrMappings):
		reply.Code, reply.Hint = wire.CodeQuota, "share one large memory in place of many"
	case errors.Is(err, socket.ErrUnsealed):
		reply.Code, reply.Hint = wire.CodeInvalid, "make it with MFD_ALLOW_SEALING and add F_SEAL_SHRINK"
	}
	return reply
}

// isLost reports whether an error means that the context cannot be used any more.
func isLost(err error) bool {
	return errors.Is(err, shader.ErrContextLost) || errors.Is(err, executor.ErrTimeout)
}
