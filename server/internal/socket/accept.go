//go:build linux

package socket

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// ErrRefused is returned by Accept, wrapped, for a client that is not served. The next one may
// be.
var ErrRefused = errors.New("a client was refused")

// acceptDelay is the time after an error that may pass, such as too many open files.
const acceptDelay = 10 * time.Millisecond

// Accept waits for a client and returns its connection. It returns ErrRefused, wrapped, for
// one of another user, and net.ErrClosed after Close.
func (l *Listener) Accept() (*Conn, error) {
	u, err := l.AcceptSocket()
	if err != nil {
		return nil, err
	}
	c, err := NewConn(u, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return c, nil
}

// AcceptSocket is Accept without a look at the client.
func (l *Listener) AcceptSocket() (*net.UnixConn, error) {
	for {
		u, err := l.AcceptUnix()
		if err == nil {
			return u, nil
		}
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			continue
		}
		if !isTransient(err) {
			return nil, err
		}
		time.Sleep(acceptDelay)
	}
}

// isTransient reports whether an error of accept may pass.
func isTransient(err error) bool {
	errno, _ := errors.AsType[unix.Errno](err)
	return slices.Contains([]unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED, unix.EINTR}, errno)
}
