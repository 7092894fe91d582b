//go:build linux

package client

import (
	"context"
	"fmt"
	"time"
)

// The time in which a server has to answer. One that is found may be stopped or hang; one
// that starts makes a GL context first.
const (
	findTime  = 10 * time.Second
	reachTime = 60 * time.Second
)

// Reach is [Dial], or [DialOrStart] with start, for a process that has another way where the
// server hangs, or a user who waits: it returns ErrNoAnswer, wrapped, where the server at
// Options.Path does not answer in 10 s, or one that starts in 60 s.
func Reach(ctx context.Context, o Options, start bool) (c *Client, err error) {
	limit := findTime
	if start {
		limit = reachTime
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if start {
		c, err = DialOrStart(limited, o, Start{})
	} else {
		c, err = Dial(limited, o)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w in %v: %s", ErrNoAnswer, limit, o.Path)
	}
	return c, err
}
