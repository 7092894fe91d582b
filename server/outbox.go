//go:build linux

package server

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// maxUnread is the bytes of replies that a session may have coming to a client that does
// not read them.
const maxUnread = 4 << 20

// maxKeptReplies is the size of buffers that the writer keeps for later replies.
const maxKeptReplies = 512 << 10

// stream carries frames to a client: its socket, or a ring.
type stream interface {
	TryWrite(frames []byte) (int, error)            // what it takes without waiting
	WriteAll(frames []byte, took func(n int)) error // waits for room until Close: a client that is busy reads later
	Fits(n int) bool                                // reports whether it takes a frame of n bytes
	Close() error
}

// outbox is the replies of one stream of a session. They are written without waiting where
// the stream takes them, else by a goroutine, so that no other goroutine waits for the
// client.
type outbox struct {
	stream   stream
	readTime time.Duration // in which there has to be room again
	failed   func(error)   // called, with mu held, where the stream cannot be written
	wake     chan struct{} // starts the writer

	mu struct {
		sync.Mutex
		room     *sync.Cond // signalled when expected or unwritten decreases
		pending  []byte     // whole frames, of which the first may be written in part
		spare    []byte
		expected int       // bytes of replies that requests will have
		written  int       // bytes that the writer is writing
		took     time.Time // when the stream took some last
		writing  bool
		wakes    bool // pending has a frame that wakes the client
		closed   bool
	}
}

func newOutbox(to stream, readTime time.Duration, failed func(error)) *outbox {
	o := &outbox{stream: to, readTime: readTime, failed: failed, wake: make(chan struct{}, 1)}
	o.mu.room = sync.NewCond(&o.mu.Mutex)
	return o
}

// expect waits until there is room for a reply of n bytes, and has what is put written
// meanwhile. It reports false when the outbox is closed, or the context of patience ends, which it
// asks for where it waits. unexpect, with the same n, ends it.
func (o *outbox) expect(n int, patience func() context.Context) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isFull(n) {
		o.flushLocked()
	}
	if o.isFull(n) {
		o.mu.Unlock() // patience may lock the session, which is locked where replies are put
		ctx := patience()
		o.mu.Lock()
		defer context.AfterFunc(ctx, func() { o.unexpect(0) })() // has await look again
		if o.await(ctx, n); ctx.Err() != nil {
			return false
		}
	}
	o.mu.expected += n
	return !o.mu.closed
}

// await waits until there is room for a reply of n bytes, or ctx ends. It ends the outbox of a client
// that reads nothing. mu is held.
func (o *outbox) await(ctx context.Context, n int) {
	for unread := (time.Time{}); o.isFull(n) && ctx.Err() == nil; {
		left := o.readTime
		switch {
		case o.unwritten() <= maxUnread: // they are still to come
			unread = time.Time{}
		case unread.IsZero():
			unread = time.Now()
		default:
			left -= min(time.Since(unread), time.Since(o.mu.took))
		}
		if left <= 0 {
			o.failLocked(os.ErrDeadlineExceeded)
			return
		}
		o.waitAtMost(left)
		o.flushLocked() // another goroutine has put replies that nothing writes yet
	}
}

// waitAtMost waits for room, or a time. mu is held.
func (o *outbox) waitAtMost(d time.Duration) {
	again := time.AfterFunc(d, func() { o.unexpect(0) })
	o.mu.room.Wait()
	again.Stop()
}

// isFull reports whether there is no room for a reply of n bytes. mu is held.
func (o *outbox) isFull(n int) bool {
	unwritten := o.unwritten()
	return !o.mu.closed && (unwritten > maxUnread || o.mu.expected > 0 && o.mu.expected+unwritten+n > maxUnread)
}

// unexpect is called when the reply that was expected is put, or will not come.
func (o *outbox) unexpect(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.expected -= n
	o.mu.room.Broadcast()
}

// unwritten is the bytes that the socket has not taken. mu is held.
func (o *outbox) unwritten() int { return len(o.mu.pending) + o.mu.written }

// put appends a frame, or an error where that is too large, and reports whether it appended the
// frame. flush, or the writer, writes it. One that wakes the client it does not append behind another.
func (o *outbox) put(t wire.Type, request uint64, m wire.Message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	wakes := t == wire.TypeWake && request == 0
	if o.mu.closed || wakes && o.mu.wakes {
		return false
	}
	o.mu.wakes = o.mu.wakes || wakes
	frames, err := wire.AppendFrame(o.mu.pending, t, request, m)
	if err == nil && !o.stream.Fits(len(frames)-len(o.mu.pending)) {
		err = errors.New("the reply is larger than the ring: use memory, or send the request by the socket")
	}
	if err != nil {
		frames, _ = wire.AppendFrame(o.mu.pending, wire.TypeError, request, asReply(err, wire.CodeInvalid))
	}
	o.mu.pending = frames
	return err == nil
}

// flush writes what the socket takes, and leaves the rest to the writer.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushLocked()
}

func (o *outbox) flushLocked() {
	if o.mu.writing || o.mu.closed || len(o.mu.pending) == 0 {
		return
	}
	n, err := o.stream.TryWrite(o.mu.pending)
	if err != nil {
		o.failLocked(err)
		return
	}
	o.mu.pending = append(o.mu.pending[:0], o.mu.pending[n:]...)
	if n > 0 {
		o.mu.took, o.mu.wakes = time.Now(), false
	}
	if len(o.mu.pending) > 0 {
		o.mu.writing = true
		o.wake <- struct{}{}
	}
	o.mu.room.Broadcast()
}

// write is the writer. It returns when the outbox is closed.
func (o *outbox) write() {
	for range o.wake {
		for o.writeOnce() {
		}
	}
}

// writeOnce writes what is pending and reports whether the writer continues.
func (o *outbox) writeOnce() bool {
	o.mu.Lock()
	if o.mu.closed || len(o.mu.pending) == 0 {
		o.mu.writing = false
		if cap(o.mu.pending)+cap(o.mu.spare) > maxKeptReplies {
			o.mu.pending, o.mu.spare = nil, nil
		}
		o.mu.Unlock()
		return false
	}
	frames := o.mu.pending
	o.mu.pending, o.mu.written, o.mu.wakes = o.mu.spare[:0], len(frames), false
	o.mu.Unlock()

	err := o.stream.WriteAll(frames, o.wrote)

	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.spare, o.mu.written = frames[:0], 0
	if err != nil {
		o.failLocked(err)
	}
	o.mu.room.Broadcast()
	return true
}

// wrote counts what the stream has taken of written.
func (o *outbox) wrote(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.written -= n
	o.mu.took = time.Now()
	o.mu.room.Broadcast()
}

func (o *outbox) failLocked(err error) {
	if !o.mu.closed {
		o.closeLocked()
		o.failed(err)
	}
}

// drain waits until everything is written, at most for limit and while the client reads, and closes
// the outbox and the connection.
func (o *outbox) drain(limit time.Duration) {
	o.flush()
	giveUp := time.AfterFunc(limit, o.close)
	defer giveUp.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	began := time.Now()
	for !o.mu.closed && o.unwritten() > 0 {
		left := o.readTime - min(time.Since(began), time.Since(o.mu.took))
		if left <= 0 {
			break
		}
		o.waitAtMost(left)
	}
	o.closeLocked()
}

// close ends the outbox and the connection. Replies that are not written are lost.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closeLocked()
}

func (o *outbox) closeLocked() {
	if !o.mu.closed {
		o.mu.closed = true
		close(o.wake)
		o.stream.Close()
		o.mu.room.Broadcast()
	}
}
