package shadercache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/trace"
)

func checkServerName(from, name string) error { return socket.CheckName(from, name) }

// The time for a server to answer. One that is found may hang, and then a GPU of this
// process is the better choice; one that starts makes a GL context first.
const (
	findTime  = 10 * time.Second
	startTime = 60 * time.Second
)

// dialServer connects to a server, which it starts where name says so.
func (o Options) dialServer(ctx context.Context, name string) (Device, error) {
	limit, dial := findTime, client.Dial
	dialed := client.Options{Path: name}
	var err error
	if name == ServerAuto || name == ServerStart {
		if dialed.Path, err = socket.DefaultPath(); errors.Is(err, socket.ErrOff) {
			dialed.Path, err = socket.UserPath(), nil // the option counts, not the environment
		}
	}
	if name == ServerStart {
		limit, dial = startTime, func(ctx context.Context, o client.Options) (*client.Client, error) {
			return client.DialOrStart(ctx, o, client.Start{})
		}
	}
	traced, file := o.startTrace()
	connect := trace.Begin(traced.Tracer, trace.Server, 0, trace.Connect)
	defer func() { connect.End() }()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var c *client.Client
	if err == nil {
		c, err = dial(limited, dialed)
	}
	switch {
	case err == nil:
		return &servedDevice{c, traced.Tracer, file, o.Logger}, nil
	case limited.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("%w: the server at %s did not answer in %v", ErrLost, dialed.Path, limit)
	}
	return nil, servedError(err)
}
