//go:build linux

package client

import (
	"context"
	"os"
	"sync/atomic"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// object is what a session has in the server under a number.
type object struct {
	c        *Client
	kind     wire.Kind
	id       uint32
	released atomic.Bool
}

// newObject returns an object with the next number of its kind.
func (c *Client) newObject(kind wire.Kind) object { return object{c: c, kind: kind, id: c.newID(kind)} }

// make sends the request that makes the object. It closes the files.
func (o *object) make(ctx context.Context, t wire.Type, m, reply wire.Message, files ...*os.File) error {
	err := o.c.do(ctx, t, m, reply, files...)
	if err != nil && ctx.Err() != nil {
		o.c.release(o.kind, o.id, true)
	}
	return err
}

// check returns an error where jobs of a client cannot bind the object.
func (o *object) check(c *Client) error {
	switch {
	case o.c != c:
		return job.ErrInvalid
	case o.released.Load():
		return job.ErrReleased
	}
	return nil
}

// ID returns the number in the session.
func (o *object) ID() uint32 { return o.id }

// Release ends the use of the object. It may be called again.
func (o *object) Release() {
	if !o.released.Swap(true) {
		o.c.release(o.kind, o.id, false)
	}
}
