//go:build linux

package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// task is one request of a session, from its receipt to its reply.
type task struct {
	s        *session
	out      *outbox // of the stream that the request came by
	header   wire.Header
	body     []byte
	kept     *body          // storage of body; nil: it is the reader's, valid until receive returns
	files    []int          // that came with the request; handle closes them
	answered atomic.Bool    // the reply is made, or a goroutine has claimed to make it
	deadline time.Time      // zero: none
	direct   bool           // the goroutine that submits the job waits for it
	times    *jobTimes      // nil: not traced
	program  string         // of a job, for its trace
	named    *shader.Source // what a name stands for from the reply on; nil: as before

	waits context.Context // see context; guarded, with ends, by session.mu
	ends  context.CancelFunc
}

// context ends with the request or the session: for what waits.
func (t *task) context() context.Context {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.waits == nil {
		t.waits, t.ends = context.WithCancel(t.s.ctx)
		if t.s.mu.unanswered[t.header.Request] != t {
			t.ends()
		}
	}
	return t.waits
}

// patience is the context of what a job waits for: for the goroutine that reads requests, which does
// not wait, one that has ended.
func (t *task) patience() context.Context {
	if t.isQueued() {
		return t.context()
	}
	return atOnce
}

// body is storage of the bytes of a request, reused.
type body struct{ bytes []byte }

var bodies = sync.Pool{New: func() any { return new(body) }}

// maxKeptBody is the size of bodies that are reused.
const maxKeptBody = 64 << 10

// keepBody copies the body, so that it stays valid in the queue, to what is not much larger: the
// backlog counts the body alone.
func (t *task) keepBody() {
	if t.kept = bodies.Get().(*body); cap(t.kept.bytes) > 4*max(len(t.body), wire.MaxBacklog/wire.MaxTasks) {
		bodies.Put(t.kept)
		t.kept = new(body)
	}
	t.kept.bytes = append(t.kept.bytes[:0], t.body...)
	t.body = t.kept.bytes
}

// isQueued reports whether the request waits in the queue, and not with the goroutine that reads
// those behind it.
func (t *task) isQueued() bool { return t.kept != nil }

// free gives back what a request has of the backlog, its body and its files.
func (t *task) free() {
	socket.CloseAll(t.files)
	t.s.backlog.Release(wire.Weight(len(t.body), len(t.files)))
	if t.kept != nil && cap(t.kept.bytes) <= maxKeptBody {
		bodies.Put(t.kept)
	}
	t.body, t.kept = nil, nil
}

// freeQueued frees an answered request that handle has not taken.
func (t *task) freeQueued() {
	if t.answered.Load() && t.s.queue.remove(t) {
		t.free()
		t.s.flush() // handle may have left the replies before to what was behind them
	}
}

// claim reports whether the caller is the one that answers the request.
func (t *task) claim() bool { return !t.answered.Swap(true) }

// reply answers a request that the caller has claimed, and reports false where m is too large
// and an error was the answer.
func (t *task) reply(m wire.Message) bool { return t.s.settle(t, t.header.Type|wire.ReplyBit, m) }

// fail answers a request that the caller has claimed with an error.
func (t *task) fail(err error, otherwise wire.Code) {
	reply := asReply(err, otherwise)
	t.s.failed(t.header.Type, reply)
	if reply.Code == wire.CodeLost {
		t.s.server.lose(err.Error())
	}
	t.s.settle(t, wire.TypeError, reply)
}

// checkReply returns an error where a reply of size bytes cannot be sent: before the request
// changes anything.
func (t *task) checkReply(size int) error {
	switch {
	case size > wire.MaxBody:
		return reject(wire.CodeInvalid, "a reply of %d bytes, at most %d are possible: use memory", size, wire.MaxBody)
	case !t.out.stream.Fits(wire.HeaderSize + size):
		return reject(wire.CodeInvalid, "a reply of %d bytes is larger than the ring: use memory, or send the request by the socket", size)
	}
	return nil
}

// end answers the request with an error, if it is unanswered, and reports whether it was. In the
// queue it takes nothing of the backlog then: a client that tries again and again would fill that.
func (t *task) end(code wire.Code, message string) bool {
	if !t.claim() {
		return false
	}
	t.fail(reject(code, "%s", message), code)
	t.out.flush()
	t.freeQueued()
	return true
}
