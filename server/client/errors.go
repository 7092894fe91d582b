//go:build linux

package client

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// Errors of the server and of the session, besides those of package job. They are returned
// wrapped.
var (
	// ErrNoAnswer is returned by Reach where a server listens and does not answer. It matches
	// job.ErrLost too.
	ErrNoAnswer error = lostError("the shadercache server did not answer")
	// ErrServerGone is returned by every call after the connection ended: the server
	// was stopped, its worker died, or its GL context was lost. It matches job.ErrLost too.
	ErrServerGone error = lostError("the shadercache server is gone")
	// ErrVersion is returned by Dial where client and server have no common version.
	ErrVersion = errors.New("client and server have no common version")
	// ErrDraining is returned when the server shuts down. It matches ErrServerGone too.
	ErrDraining error = lostError("the server shuts down")
	// ErrInternal is returned for a fault of the server or the driver.
	ErrInternal = errors.New("the server failed")
	// ErrMalformed is returned when one side sent what is not of the protocol.
	ErrMalformed = wire.ErrMalformed
)

// lostError is an error after which a session cannot be used.
type lostError string

func (e lostError) Error() string { return string(e) }

// Is matches job.ErrLost, and ErrServerGone for a server that shuts down.
func (e lostError) Is(target error) bool {
	return target == job.ErrLost || target == ErrServerGone && e == ErrDraining
}

var sentinels = map[wire.Code]error{
	wire.CodeMalformed: ErrMalformed, wire.CodeVersion: ErrVersion, wire.CodeQuota: job.ErrQuota,
	wire.CodeDeadline: context.DeadlineExceeded, wire.CodeCancelled: context.Canceled, wire.CodeNotFound: job.ErrNotFound,
	wire.CodeExists: job.ErrExists, wire.CodeInvalid: job.ErrInvalid, wire.CodeOutOfMemory: shader.ErrOutOfMemory,
	wire.CodeConflict: job.ErrConflict, wire.CodeLost: ErrServerGone, wire.CodeDraining: ErrDraining,
	wire.CodeInternal: ErrInternal, wire.CodeOtherDevice: job.ErrOtherDevice, wire.CodeCompile: job.ErrInvalid,
}

// Error is an error of the server.
type Error struct {
	Code    wire.Code
	Message string
	Hint    string // what to do about it; may be empty
}

// Error returns the message.
func (e *Error) Error() string { return "server: " + e.Message }

// Unwrap returns the error of package job, of context or of this package for the code.
func (e *Error) Unwrap() error { return sentinels[e.Code] }
