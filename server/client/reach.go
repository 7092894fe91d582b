//go:build linux

package client

import (
	"context"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/server/internal/socket"
)

// EnvPath is the environment variable with the path of a server's socket, or a word for it.
const EnvPath = socket.EnvPath

// The words that stand for a server instead of the path of its socket.
const (
	Auto  = socket.Auto  // the user's server, where one runs
	Start = socket.Start // the same; one is started where none runs
	Off   = socket.Off   // no server
)

// CheckName returns an error, which begins with what, for a value that is neither an
// absolute path nor one of the words for a server.
func CheckName(what, value string) error { return socket.CheckName(what, value) }

// The time in which a server has to answer. One that is found may be stopped or hang; one
// that starts makes a GL context first.
const (
	findTime  = 10 * time.Second
	reachTime = 60 * time.Second
)

// Reach is [Dial] where Options.Path may be Auto or Start: the server of $SHADERCACHE_SERVER where
// that is a path, else the user's, also where the variable is off. Where none listens Start
// starts one, which outlives this process and ends when it had no client for 10 min; what it logs
// is in the file beside the socket, with the suffix .log.
//
// It is for a process that has another way where the server hangs, or a user who waits: it
// returns ErrNoAnswer, wrapped, where the server does not answer in 10 s, or one that starts in
// 60 s, and job.ErrNoServer with the reason where none can be started.
func Reach(ctx context.Context, o Options) (c *Client, err error) {
	start, limit := o.Path == Start, findTime
	if start || o.Path == Auto {
		if o.Path, err = socket.PathOrUsers(); err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
	}
	if start {
		limit = reachTime
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if start {
		c, err = dialOrStart(limited, o)
	} else {
		c, err = Dial(limited, o)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w in %v: %s", ErrNoAnswer, limit, o.Path)
	}
	return c, err
}
