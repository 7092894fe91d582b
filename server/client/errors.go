//go:build linux

package client

import (
	"errors"

	"github.com/shadercache/shadercache/server/wire"
)

// Errors of the server and of the session. They are returned wrapped.
var (
	// ErrNoServer is returned by Dial where no server listens.
	ErrNoServer = errors.New("no shadercache server listens")
	// ErrNoAnswer is returned by Reach where a server listens and does not answer.
	ErrNoAnswer = errors.New("the shadercache server did not answer")
	// ErrServerGone is returned by every call after the connection ended: the server
	// was stopped, or its worker died.
	ErrServerGone = errors.New("the shadercache server is gone")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("client: closed")
	// ErrReleased is returned for an object that was released, and by Wait after
	// Release.
	ErrReleased = errors.New("client: released")

	// ErrVersion is returned by Dial where client and server have no common version.
	ErrVersion = errors.New("client and server have no common version")
	// ErrQuota is returned when a limit of the session or the server is reached.
	ErrQuota = errors.New("a limit of the server is reached")
	// ErrDeadline is returned when the deadline passed before the request was done. It
	// matches context.DeadlineExceeded too.
	ErrDeadline = errors.New("the deadline passed")
	// ErrCancelled is returned for a request that was cancelled.
	ErrCancelled = errors.New("the request was cancelled")
	// ErrNotFound is returned when there is no named object, or no program, of a name.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned when a name exists already, or is of another object.
	ErrExists = errors.New("exists already")
	// ErrInvalid is returned for a request that does not fit its objects or the device.
	ErrInvalid = errors.New("invalid request")
	// ErrOutOfMemory is returned when the device or the server has no memory left.
	ErrOutOfMemory = errors.New("the server is out of memory")
	// ErrConflict is returned when a buffer has another version than expected.
	ErrConflict = errors.New("the buffer has another version")
	// ErrLost is returned when the GL context of the server was lost or a kernel did not
	// end. It matches ErrServerGone too.
	ErrLost = errors.New("the server lost its GL context")
	// ErrDraining is returned when the server shuts down.
	ErrDraining = errors.New("the server shuts down")
	// ErrOtherDevice is returned for a named buffer that is on another device of the server:
	// see Options.Near.
	ErrOtherDevice = errors.New("the buffer is on another device of the server")
	// ErrInternal is returned for a fault of the server or the driver.
	ErrInternal = errors.New("the server failed")
	// ErrMalformed is returned when one side sent what is not of the protocol.
	ErrMalformed = errors.New("malformed message")
)

var sentinels = map[wire.Code]error{
	wire.CodeMalformed: ErrMalformed, wire.CodeVersion: ErrVersion, wire.CodeQuota: ErrQuota,
	wire.CodeDeadline: ErrDeadline, wire.CodeCancelled: ErrCancelled, wire.CodeNotFound: ErrNotFound,
	wire.CodeExists: ErrExists, wire.CodeInvalid: ErrInvalid, wire.CodeOutOfMemory: ErrOutOfMemory,
	wire.CodeConflict: ErrConflict, wire.CodeLost: ErrLost, wire.CodeDraining: ErrDraining,
	wire.CodeInternal: ErrInternal, wire.CodeOtherDevice: ErrOtherDevice, wire.CodeCompile: ErrInvalid,
}

// Error is an error of the server.
type Error struct {
	Code    wire.Code
	Message string
	Hint    string // what to do about it; may be empty
}

// Error returns the message.
func (e *Error) Error() string { return "server: " + e.Message }

// Unwrap returns the sentinel of the code.
func (e *Error) Unwrap() error { return sentinels[e.Code] }

// Is matches ErrServerGone where the session ended with the error, and
// context.DeadlineExceeded for a deadline.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrServerGone:
		return e.Code == wire.CodeLost || e.Code == wire.CodeDraining
	case errDeadlineExceeded:
		return e.Code == wire.CodeDeadline
	}
	return false
}
