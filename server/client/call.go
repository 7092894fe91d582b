//go:build linux

package client

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// call is one request that waits for its reply.
type call struct {
	sent    wire.Type
	request uint64
	done    chan struct{} // closed with err and reply
	ended   atomic.Bool   // likewise, for a goroutine that spins
	awaited atomic.Bool   // a goroutine sleeps until done is closed, or may
	reply   []byte
	err     error
	room    int                     // bytes of the operands that the reply has
	byRing  bool                    // it was sent by the ring
	unused  bool                    // no job that is unanswered uses what it releases
	ordered *int                    // counts it while it is unanswered: it takes effect in the order of sending
	deliver func(body []byte) error // called by the reader instead of a copy to reply
	frame   *[]byte                 // until it is sent
	weight  int64                   // of the client's backlog
	slots   int64                   // of the client's, 1 at most
	limit   time.Duration           // for the reply
	due     time.Time               // when it has come at the latest
	seen    uint64                  // Client.mu.replies when it was sent
	late    bool                    // it has not come
	waits   bool                    // nothing of it is written: see awaitTurn
}

// finish ends a call. body is valid until it returns.
func (c *Client) finish(w *call, body []byte, err error) {
	c.leave(w)
	switch {
	case err != nil:
		w.err = err
	case w.deliver != nil:
		w.err = w.deliver(body)
	default:
		w.reply = append(w.reply, body...)
	}
	w.ended.Store(true)
	close(w.done)
}

// leave gives back what a call takes of the client's slots and backlog.
func (c *Client) leave(w *call) {
	c.backlog.Release(w.weight)
	c.slots.Release(w.slots)
}

// answered removes a call from the unanswered ones, and returns it. mu is held.
func (c *Client) answered(request uint64) *call {
	w := c.mu.calls[request]
	delete(c.mu.calls, request)
	if w != nil && w.ordered != nil {
		*w.ordered--
		c.mu.fewer.Broadcast()
	}
	return w
}

// forget makes the reader drop the reply of a call, and reports whether it had not come.
func (c *Client) forget(w *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered(w.request) != nil
}

// wait waits for the reply.
func (c *Client) wait(ctx context.Context, w *call) error {
	if r := c.ring.Load(); r != nil && r.spins {
		c.poll(r, w)
	}
	w.awaited.Store(true)
	select {
	case <-w.done:
		return w.err
	default:
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do sends a request and decodes its reply. When ctx ends first it cancels the request. It closes
// the files.
func (c *Client) do(ctx context.Context, t wire.Type, m, reply wire.Message, files ...*os.File) error {
	if err := ctx.Err(); err != nil {
		closeFiles(files)
		return err
	}
	w := &call{sent: t}
	if err := c.start(ctx, w, m, files...); err != nil {
		return err
	}
	if err := c.wait(ctx, w); err != nil {
		if !w.ended.Load() {
			c.cancel(w)
		}
		return err
	}
	return wire.Decode(w.reply, reply)
}

// cancel asks the server to end a request, which it then answers at once, whatever the deadline.
// It does not wait for the answer. A request of which nothing was sent ends here.
func (c *Client) cancel(w *call) {
	c.mu.Lock()
	if w.waits && c.answered(w.request) != nil {
		w.waits = false
		c.mu.fewer.Broadcast()
		c.mu.Unlock()
		c.finish(w, nil, &Error{Code: wire.CodeCancelled, Message: "it was not sent yet"})
		return
	}
	if now := time.Now(); w.due.After(now) {
		w.due, w.limit, w.seen = now, answerTime, c.mu.replies
		c.expectAnswer(w)
	}
	c.mu.Unlock()
	c.startLater(&call{sent: wire.TypeCancel, byRing: w.byRing}, &wire.Cancel{Request: w.request})
}

// newID returns an id for an object.
func (c *Client) newID(kind wire.Kind) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.ids[kind]++
	return c.mu.ids[kind]
}

// release releases an object on the server, without waiting. Where no job that uses it is unanswered
// it need not be behind those before it: see goesByRing.
func (c *Client) release(kind wire.Kind, id uint32, unused bool) {
	c.startLater(&call{sent: wire.TypeRelease, unused: unused}, &wire.Release{Kind: kind, ID: id})
}

// deadlineOf returns the deadline of a request: 0, the server's default, where ctx has
// none.
func deadlineOf(ctx context.Context) uint64 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return uint64(max(1, time.Until(deadline)))
}
