package shadercache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
)

// The values of Options.Server that are no paths.
const (
	ServerOff   = "off"
	ServerAuto  = "auto"
	ServerStart = "start"
)

// Connect returns a device: a server, where Options.Server or $SHADERCACHE_SERVER says so,
// and else the GPU that Open opens. With a server this process opens no GL context and
// loads no driver.
//
// A server has a cache directory, a remote and a GPU of its own: the other options are for
// a GPU of this process. Where a Device is chosen, auto and start choose this process, and
// a path is an error.
//
// It returns ErrNoServer for a path where no server runs, the server's reason for refusing
// this process, and the errors of Open. ctx limits the time to connect and to start.
func Connect(ctx context.Context, o Options) (Device, error) {
	if o.NoExecutor {
		return nil, fmt.Errorf("shadercache: connect: %w: a Device has an executor; Options.NoExecutor is for Open", ErrInvalid)
	}
	name, err := o.serverName()
	if err != nil {
		return nil, fmt.Errorf("shadercache: connect: %w", err)
	}
	if name != ServerOff {
		device, err := o.dialServer(ctx, name)
		if err == nil {
			return device, nil
		}
		if !o.mayOpen(name, err) {
			return nil, fmt.Errorf("shadercache: connect: %w", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("shadercache: connect: %w", err)
	}
	o.Server = ServerOff
	gpu, err := Open(o)
	if err != nil {
		return nil, err
	}
	return gpu.AsDevice(), nil
}

// serverName returns the server to use: one of the words, or a path.
func (o Options) serverName() (string, error) {
	name, from := o.Server, "Options.Server"
	if name == "" && !isPrivileged() {
		name, from = os.Getenv("SHADERCACHE_SERVER"), "SHADERCACHE_SERVER"
	}
	if name == "" {
		name = ServerOff
	}
	if err := checkServerName(from, name); err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	byWord, hasDevice := name == ServerAuto || name == ServerStart, o.Device != "" || o.Context.Device != ""
	switch {
	case byWord && (hasDevice || isPrivileged()): // a user must not choose what answers a privileged process
		return ServerOff, nil
	case name == ServerOff || !hasDevice:
		return name, nil
	}
	return "", fmt.Errorf("%w: a server has its own GPU: Options.Device and the server %s exclude each other", ErrInvalid, name)
}

// mayOpen reports whether a GPU of this process is used after an error of the server, and
// logs the error.
func (o Options) mayOpen(name string, err error) bool {
	if name != ServerAuto && name != ServerStart || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	logger, level := o.Logger, slog.LevelWarn
	if name == ServerAuto && errors.Is(err, ErrNoServer) {
		level = slog.LevelDebug
	}
	if logger != nil {
		logger.Log(context.Background(), level, "no server is used", "reason", err)
	}
	return true
}
