//go:build linux

package client

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// frames are reused.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// start sends a request behind those before it, for which it waits until ctx ends, as for a slot and
// room in the backlog. Where it fails the call has none of them any more. It closes the files.
func (c *Client) start(ctx context.Context, w *call, m wire.Message, files ...*os.File) error {
	w.frame = frames.Get().(*[]byte)
	frame, err := wire.AppendFrame((*w.frame)[:0], w.sent, 0, m)
	*w.frame = frame
	if err != nil {
		err = errors.Join(job.ErrInvalid, err)
	} else {
		err = c.take(ctx, w, wire.Weight(len(frame)-wire.HeaderSize, len(files)))
	}
	if err == nil {
		if c.holdSending(ctx.Done()) {
			return c.startHeld(w, m, files)
		}
		err = ctx.Err()
	}
	closeFiles(files)
	frames.Put(w.frame)
	c.leave(w)
	return err
}

// take waits until the server accepts and reads one more request.
func (c *Client) take(ctx context.Context, w *call, weight int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.sent.IsTimed() {
		if err := c.slots.Acquire(ctx, 1); err != nil {
			return err
		}
		w.slots = 1
	}
	err := c.backlog.Acquire(ctx, weight)
	if err == nil {
		w.weight = weight
	}
	return err
}

// startLater sends a request whose reply nobody waits for, before all that is started after it.
// It waits for none before it: while another frame is written it is left to who comes next.
func (c *Client) startLater(w *call, m wire.Message) {
	frame, _ := wire.AppendFrame(nil, w.sent, 0, m)
	w.frame = &frame
	c.mu.Lock()
	c.mu.later = append(c.mu.later, func() { _ = c.startHeld(w, m, nil) })
	first := len(c.mu.later) == 1
	c.mu.Unlock()
	if c.holdSending(over) {
		<-c.sending
	} else if first {
		go func() { c.holdSending(nil); <-c.sending }()
	}
}

// over is a channel that is closed.
var over = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// holdSending sends what startLater has left, and returns with sending held, or false where done
// came before.
func (c *Client) holdSending(done <-chan struct{}) bool {
	for {
		select {
		case c.sending <- struct{}{}:
		default:
			select {
			case c.sending <- struct{}{}:
			case <-done:
				return false
			}
		}
		c.mu.Lock()
		if len(c.mu.later) == 0 {
			c.mu.Unlock()
			return true
		}
		next := c.mu.later[0]
		c.mu.later = c.mu.later[1:]
		c.mu.Unlock()
		next()
	}
}

// startHeld sends a request. sending is held, and is not any more when the frame is written.
func (c *Client) startHeld(w *call, m wire.Message, files []*os.File) error {
	w.done, w.limit = make(chan struct{}), c.answerLimit(w)
	w.due = time.Now().Add(w.limit)
	c.mu.Lock()
	if err := c.mu.ended; err != nil {
		c.mu.Unlock()
		c.sent(w, files)
		c.leave(w)
		return err
	}
	c.mu.request++
	w.request = c.mu.request
	c.mu.calls[w.request], w.seen = w, c.mu.replies
	c.expectAnswer(w)
	c.mu.Unlock()
	err := c.send(w, m, files)
	if err != nil && c.forget(w) { // else the end of the session has finished it
		c.leave(w)
	}
	return err
}

// send writes the frame. What there is no room for a goroutine writes.
func (c *Client) send(w *call, m wire.Message, files []*os.File) (err error) {
	waits, written, frame, r := false, 0, *w.frame, c.ring.Load()
	wire.SetRequest(frame, w.request)
	if r != nil && len(files) == 0 {
		w.byRing, waits = c.goesByRing(r, w, m, len(frame))
	}
	switch {
	case waits || len(files) > 0:
	case w.byRing:
		written, err = r.TryWrite(frame)
	default:
		written, err = c.conn.TryWrite(frame)
	}
	if err != nil || written == len(frame) {
		c.sent(w, files)
		return c.writeFailed(err)
	}
	c.mu.Lock()
	w.waits = waits
	c.mu.Unlock()
	go c.sendRest(w, frame[written:], waits, files)
	return nil
}

// sendRest writes what send did not, and waits for its turn before where it has to.
func (c *Client) sendRest(w *call, rest []byte, waits bool, files []*os.File) {
	defer c.sent(w, files)
	if waits && !c.awaitTurn(w) {
		return
	}
	var err error
	if w.byRing {
		err = c.ring.Load().WriteAll(rest, func(int) {})
	} else {
		err = c.conn.Write(rest, files...)
	}
	_ = c.writeFailed(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	w.due, w.seen = time.Now().Add(w.limit), c.mu.replies
	c.expectAnswer(w)
}

// sent ends the sending of a frame.
func (c *Client) sent(w *call, files []*os.File) {
	closeFiles(files)
	frames.Put(w.frame)
	<-c.sending
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// writeFailed ends the session after an error of a write, or has the reader do so, which has read
// what the server said before.
func (c *Client) writeFailed(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-c.done:
	case <-time.After(readRest):
		c.end(errors.Join(ErrServerGone, err))
	}
	return c.Err()
}

// readRest is the time for the reader to read what the server said before it closed.
const readRest = time.Second

// goesByRing reports whether a request goes by the ring, where it and its reply fit. Requests of
// which the order counts are unanswered by one of ring and socket at a time: between the two there
// is no order. It reports too whether a large one has to wait for others by the ring.
func (c *Client) goesByRing(r *clientRing, w *call, m wire.Message, size int) (byRing, waits bool) {
	const head = 64   // more than a reply has before its operands
	bySocket := false // as what is made so, where no job is in the ring: else the two have no order
	switch m := m.(type) {
	case *wire.Cancel:
		return w.byRing, false // as what it ends
	case *wire.Release:
		if bySocket = m.Kind != wire.KindBuffer && m.Kind != wire.KindTexture; bySocket && w.unused {
			return false, false
		}
	case *wire.Copy:
		w.room = m.To.Inline()
	}
	fits := r.Fits(size) && r.Fits(head+w.room)
	switch w.sent {
	case wire.TypeProgram, wire.TypePlan, wire.TypeStatus: // whose replies may be large
		return false, false
	case wire.TypeJob, wire.TypeCopy, wire.TypeWeights, wire.TypeRun, wire.TypeBuffer, wire.TypeTexture, wire.TypeRelease:
	default:
		return fits, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case fits && c.mu.inSocket == 0 && (!bySocket || c.mu.inRing > 0): // to wait for those in it would hold up cancels
		w.ordered = &c.mu.inRing
	case c.mu.inRing == 0:
		w.ordered = &c.mu.inSocket
	default:
		return false, true
	}
	*w.ordered++
	return w.ordered == &c.mu.inRing, false
}

// awaitTurn waits until no request by the ring is unanswered, and reports false where the call was
// cancelled before.
func (c *Client) awaitTurn(w *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w.waits && c.mu.inRing > 0 && c.mu.ended == nil {
		c.mu.fewer.Wait()
	}
	if !w.waits {
		return false
	}
	w.waits, w.ordered = false, &c.mu.inSocket
	c.mu.inSocket++
	return true
}
