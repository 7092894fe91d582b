package shadercache

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/trace"
)

func checkServerName(from, name string) error { return socket.CheckName(from, name) }

// dialServer connects to a server, which it starts where name says so.
func (o Options) dialServer(ctx context.Context, name string) (Device, error) {
	dialed := client.Options{Path: name, Device: o.ServerDevice, Near: o.ServerNear}
	var err error
	if name == ServerAuto || name == ServerStart {
		if dialed.Path, err = socket.DefaultPath(); errors.Is(err, socket.ErrOff) {
			dialed.Path, err = socket.UserPath(), nil // the option counts, not the environment
		}
	}
	traced, file := o.startTrace()
	connect := trace.Begin(traced.Tracer, trace.Server, 0, trace.Connect)
	defer func() { connect.End() }()
	var c *client.Client
	if err == nil {
		c, err = client.Reach(ctx, dialed, name == ServerStart)
	}
	if err != nil {
		return nil, servedError(err)
	}
	return &servedDevice{c, traced.Tracer, file, o.Logger}, nil
}
