//go:build linux

package client

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// clientRing is the session's ring in shared memory.
type clientRing struct {
	*ring.Ring
	memory []byte
	spins  bool       // a goroutine that waits polls it first
	taking sync.Mutex // held by the goroutine that takes replies
}

// openRing makes the ring and passes it to the server. Later requests go by it.
func (c *Client) openRing(ctx context.Context, size int) error {
	if err := ring.Check(size); err != nil {
		return fmt.Errorf("%w: %w", job.ErrInvalid, err)
	}
	file, memory, err := socket.NewMemory("shadercache ring", ring.Bytes(size))
	if err != nil {
		return err
	}
	wake, _ := wire.AppendFrame(nil, wire.TypeWake, 0, &wire.Empty{})
	if err := c.do(ctx, wire.TypeRing, &wire.Ring{Size: uint32(size)}, &wire.Empty{}, file); err != nil {
		return errors.Join(err, socket.Unmap(memory))
	}
	made := ring.New(ring.Client, memory, size, func() error { return c.conn.Write(wake) })
	made.Arm()
	r := &clientRing{Ring: made, memory: memory, spins: ring.Spins()}
	c.ring.Store(r)
	if c.Err() != nil {
		_ = r.Close()
	}
	return nil
}

// readRing passes replies to their calls, when the server wakes the client. It does not spin: a
// goroutine that waits for a reply does, and takes replies itself.
func (c *Client) readRing() {
	r := c.ring.Load()
	if r == nil {
		return
	}
	r.taking.Lock()
	defer r.taking.Unlock()
	c.sleep(r)
}

// sleep takes the replies in the ring, and has the server wake the client for those to come.
// taking is held.
func (c *Client) sleep(r *clientRing) {
	for armed := false; !armed && c.Err() == nil; armed = r.Arm() {
		if _, err := c.takeReplies(r); err != nil {
			c.ringFailed(err)
			return
		}
	}
}

// takeReplies passes the replies in the ring to their calls, and reports whether a goroutine
// sleeps until one of them. taking is held.
func (c *Client) takeReplies(r *clientRing) (woke bool, err error) {
	for r.Ready() && c.Err() == nil {
		h, body, err := r.Take()
		if err != nil {
			return woke, err
		}
		if c.answer(h, body) {
			woke = true
		}
	}
	return woke, nil
}

// ringFailed ends the session after an error of the ring.
func (c *Client) ringFailed(err error) {
	if c.Err() == nil {
		c.end(fmt.Errorf("%w: %w", ErrServerGone, err))
	}
}

// poll spins for the reply of a call and takes the replies of the ring meanwhile: to wake a
// goroutine for that, and this one after it, would take longer than a small job. Where
// another goroutine does so, poll returns.
func (c *Client) poll(r *clientRing, w *call) {
	if w.ended.Load() || !r.taking.TryLock() {
		return
	}
	defer r.taking.Unlock()
	if c.ring.Load() == nil {
		return
	}
	r.Disarm()
	ring.Spin(func() bool {
		if r.Ready() {
			woke, err := c.takeReplies(r)
			if err != nil {
				c.ringFailed(err) // which ends w
			}
			if woke && !w.ended.Load() {
				runtime.Gosched() // they wait in this processor's queue
			}
		}
		return w.ended.Load()
	})
	c.sleep(r)
}

// closeRing frees the ring after the end of the session.
func (c *Client) closeRing() {
	c.sending <- struct{}{}
	defer func() { <-c.sending }()
	r := c.ring.Load()
	if r == nil {
		return
	}
	r.taking.Lock()
	defer r.taking.Unlock()
	c.ring.Store(nil)
	_ = socket.Unmap(r.memory)
}
