//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
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

// asReply returns the reply for an error of a request. otherwise is the code of errors
// that have none of their own.
func asReply(err error, otherwise wire.Code) *wire.Error {
	if reply, ok := errors.AsType[*wire.Error](err); ok {
		return reply
	}
	if failure, ok := errors.AsType[*shader.CompileError](err); ok {
		return &wire.Error{Code: wire.CodeCompile, Message: failure.Log}
	}
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			return &wire.Error{Code: k.code, Message: strings.TrimPrefix(err.Error(), k.is.Error()+": "), Hint: k.hint}
		}
	}
	return &wire.Error{Code: otherwise, Message: err.Error()}
}

// kinds are the errors that have a code, and what a client can do about them.
var kinds = []struct {
	is   error
	code wire.Code
	hint string
}{
	{wire.ErrMalformed, wire.CodeMalformed, ""},
	{shader.ErrContextLost, wire.CodeLost, lostHint},
	{executor.ErrTimeout, wire.CodeLost, lostHint},
	{shader.ErrOutOfMemory, wire.CodeOutOfMemory, "release buffers, or delete named ones"},
	{unix.ENOMEM, wire.CodeOutOfMemory, "share less memory, or pass the bytes inline"},
	{context.Canceled, wire.CodeCancelled, ""},
	{context.DeadlineExceeded, wire.CodeDeadline, ""},
	{socket.ErrMappings, wire.CodeQuota, "share one large memory in place of many"},
	{socket.ErrUnsealed, wire.CodeInvalid, "make it with MFD_ALLOW_SEALING and add F_SEAL_SHRINK"},
	{job.ErrInvalid, wire.CodeInvalid, ""},
	{job.ErrNotFound, wire.CodeNotFound, "it may have been idle for too long, or the server was restarted: create it"},
	{job.ErrExists, wire.CodeExists, ""},
	{job.ErrConflict, wire.CodeConflict, ""},
	{job.ErrQuota, wire.CodeQuota, "release or delete named buffers and plans, or raise the server's limit"},
	{job.ErrOtherDevice, wire.CodeOtherDevice, "open a session for that device, or one near the buffer"},
	{job.ErrClosed, wire.CodeDraining, "the server shuts down"},
}
