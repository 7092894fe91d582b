package shadercache

import (
	"context"
	"errors"
)

// Errors of a [Device], the same for one of this process and for a server. They are
// returned wrapped.
var (
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("the device is closed")
	// ErrReleased is returned for a program or buffer that was released, and by Wait after
	// Release.
	ErrReleased = errors.New("released")
	// ErrInvalid is returned for a job, a size or a range that does not fit its programs,
	// its buffers or the GPU.
	ErrInvalid = errors.New("invalid request")
	// ErrLost is returned when the GL context is lost, a kernel did not end, or the server
	// is gone. The device cannot be used any more: Connect again.
	ErrLost = errors.New("the device is lost")
	// ErrNotFound is returned when there is no buffer or plan of a name.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned when a buffer or plan of a name has another size or other layers.
	ErrExists = errors.New("exists already")
	// ErrConflict is returned when a buffer has another version than expected.
	ErrConflict = errors.New("the buffer has another version")
	// ErrQuota is returned when a limit of the server is reached.
	ErrQuota = errors.New("a limit of the server is reached")
	// ErrNoServer is returned by Connect where Options.Server names a server that does not
	// run.
	ErrNoServer = errors.New("no server runs")
	// ErrOtherDevice is returned for a named buffer that is on another GPU of the server: see
	// Options.ServerNear.
	ErrOtherDevice = errors.New("the buffer is on another device of the server")
	// ErrServed is returned by Device.Local for a server, which has the GL context.
	ErrServed = errors.New("the GL context is a server's: a program that needs its own uses Open, or Options.Server off")
)

// kindError is an error that also matches one of this package.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// errorKind is an error of this package for one of another.
type errorKind struct{ of, is error }

// withKind returns err so that it matches the kind of the first entry that it matches, or
// otherwise, which may be nil.
func withKind(err error, kinds []errorKind, otherwise error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	for _, k := range kinds {
		if errors.Is(err, k.of) {
			return &kindError{k.is, err}
		}
	}
	if otherwise != nil {
		return &kindError{otherwise, err}
	}
	return err
}
