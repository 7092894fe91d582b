//go:build linux

package client

import (
	"context"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/server/ring"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/server/wire"
)

// clientRing is the session's ring in shared memory.
type clientRing struct {
	*ring.Ring
	memory []byte
	read   chan struct{} // closed when its reader has ended
}

// ringTime is the time after which a server that does not read the ring counts as gone.
const ringTime = 30 * time.Second

// openRing makes the ring and passes it to the server. Later requests go by it.
func (c *Client) openRing(ctx context.Context, size int) error {
	if size < ring.MinSize || size > ring.MaxSize {
		return fmt.Errorf("%w: a ring of %d bytes", ErrInvalid, size)
	}
	file, memory, err := socket.NewMemory("shadercache ring", ring.Bytes(size))
	if err != nil {
		return err
	}
	defer file.Close()
	server, err := ring.NewEventFD()
	if err != nil {
		return err
	}
	client, err := ring.NewEventFD()
	if err != nil {
		return err
	}
	made, err := ring.New(ring.Client, memory, size, client, server)
	if err == nil {
		err = c.do(ctx, wire.TypeRing, &wire.Ring{Size: uint32(size)}, &wire.Empty{}, file, server, client)
	}
	if err != nil {
		_ = server.Close()
		_ = client.Close()
		_ = socket.Unmap(memory)
		return err
	}
	r := &clientRing{made, memory, make(chan struct{})}
	c.mu.Lock()
	c.mu.ring = r
	ended := c.mu.ended != nil
	c.mu.Unlock()
	if ended {
		_ = r.Close()
	}
	go c.readRing(r)
	c.sending.Lock()
	defer c.sending.Unlock()
	c.sending.ring = r
	c.spins.Store(ring.Spins())
	return nil
}

// readRing passes replies to their calls until the ring is closed.
func (c *Client) readRing(r *clientRing) {
	defer close(r.read)
	for {
		h, body, err := r.Next()
		if err != nil {
			if c.Err() == nil {
				c.end(fmt.Errorf("%w: %w", ErrServerGone, err))
			}
			return
		}
		c.answer(h, body)
	}
}

// closeRing frees the ring after the end of the session.
func (c *Client) closeRing() {
	c.sending.Lock()
	defer c.sending.Unlock()
	r := c.sending.ring
	if r == nil {
		return
	}
	c.sending.ring = nil
	<-r.read
	_ = r.Free()
	_ = socket.Unmap(r.memory)
}
