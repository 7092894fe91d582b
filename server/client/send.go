//go:build linux

package client

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// start sends a request behind those before it, for which it waits until ctx ends. Where it
// fails the call has no slot any more. It closes the files.
func (c *Client) start(ctx context.Context, w *call, m wire.Message, files ...*os.File) error {
	if !c.holdSending(ctx.Done()) {
		closeFiles(files)
		w.leave()
		return ctx.Err()
	}
	return c.startHeld(w, m, files)
}

// startLater sends a request whose reply nobody waits for, before all that is started after it.
// It waits for none before it: while another frame is written it is left to who comes next.
func (c *Client) startLater(w *call, m wire.Message) {
	c.mu.Lock()
	c.mu.later = append(c.mu.later, func() { _ = c.startHeld(w, m, nil) })
	first := len(c.mu.later) == 1
	c.mu.Unlock()
	if c.holdSending(over) {
		<-c.sending.held
	} else if first {
		go func() { c.holdSending(nil); <-c.sending.held }()
	}
}

// over is a channel that is closed.
var over = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// holdSending sends what startLater has left, and returns with sending held, or false where done
// came before.
func (c *Client) holdSending(done <-chan struct{}) bool {
	for {
		select {
		case c.sending.held <- struct{}{}:
		default:
			select {
			case c.sending.held <- struct{}{}:
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
	w.done, w.limit = make(chan struct{}), c.answerLimit(m)
	w.due = time.Now().Add(w.limit)
	c.mu.Lock()
	if err := c.mu.ended; err != nil {
		c.mu.Unlock()
		c.sent(files)
		w.leave()
		return err
	}
	c.mu.request++
	w.request = c.mu.request
	c.mu.calls[w.request], w.seen = w, c.mu.replies
	c.expectAnswer(w)
	c.mu.Unlock()
	err := c.send(w, m, files)
	if err != nil && c.forget(w) { // else the end of the session has finished it
		w.leave()
	}
	return err
}

// send writes the frame. What there is no room for a goroutine writes.
func (c *Client) send(w *call, m wire.Message, files []*os.File) error {
	frames, err := wire.AppendFrame(c.sending.frames[:0], w.sent, w.request, m)
	if err != nil {
		c.sent(files)
		return errors.Join(job.ErrInvalid, err)
	}
	c.sending.frames = frames
	waits, written := false, 0
	if c.sending.ring != nil && len(files) == 0 {
		w.byRing, waits = c.goesByRing(w, m, len(frames))
	}
	switch {
	case waits || len(files) > 0:
	case w.byRing:
		written, err = c.sending.ring.TryWrite(frames)
	default:
		written, err = c.conn.TryWrite(frames)
	}
	if err != nil || written == len(frames) {
		c.sent(files)
		return c.writeFailed(err)
	}
	c.mu.Lock()
	w.unsent, w.waits = true, waits
	c.mu.Unlock()
	go c.sendRest(w, frames[written:], waits, files)
	return nil
}

// sendRest writes what send did not, and waits for its turn before where it has to.
func (c *Client) sendRest(w *call, frames []byte, waits bool, files []*os.File) {
	defer c.sent(files)
	if waits && !c.awaitTurn(w) {
		return
	}
	var err error
	if w.byRing {
		err = c.sending.ring.WriteWithin(frames, compileTime)
	} else {
		err = c.conn.Write(frames, files...)
	}
	_ = c.writeFailed(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	w.unsent, w.due, w.seen = false, time.Now().Add(w.limit), c.mu.replies
	c.expectAnswer(w)
}

// sent ends the sending of a frame.
func (c *Client) sent(files []*os.File) {
	closeFiles(files)
	<-c.sending.held
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
func (c *Client) goesByRing(w *call, m wire.Message, size int) (byRing, waits bool) {
	const head = 64 // more than a reply has before its operands
	switch m := m.(type) {
	case *wire.Cancel:
		return w.byRing, false // as what it ends
	case *wire.Release:
		if w.bySocket {
			return false, false
		}
	case *wire.Copy:
		w.room = m.To.Inline()
	}
	r := c.sending.ring
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
	case fits && c.mu.inSocket == 0:
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
