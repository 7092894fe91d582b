//go:build linux

package client

import (
	"cmp"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// The time for a reply, after which the server is asked whether it goes on. It answers a job, copy,
// run or upload of weights at its deadline at the latest.
const (
	answerTime  = time.Minute
	longestTime = 1000 * time.Hour // whatever the server says
)

// answerGrace is the time beyond that until a server counts as gone. This process may have
// been stopped as well: replies that came meanwhile have as much time again to be read.
// Variable for tests.
var answerGrace = 5 * time.Second

// answerLimit returns the time for the reply to a request.
func (c *Client) answerLimit(w *call) time.Duration {
	if !w.sent.IsTimed() {
		return answerTime
	}
	deadline := cmp.Or(wire.Deadline(w.sent, (*w.frame)[wire.HeaderSize:]), c.welcome.Limits.Deadline)
	return time.Duration(min(deadline, c.welcome.Limits.Longest, uint64(longestTime)))
}

// expectAnswer has checkAnswers run when a reply is overdue. mu is held. A request whose reply
// is due after that of another one does not touch the timer: that costs a system call.
func (c *Client) expectAnswer(w *call) {
	at := w.due.Add(answerGrace)
	if !c.mu.checkAt.IsZero() && !at.Before(c.mu.checkAt) {
		return
	}
	c.mu.checkAt = at
	if c.mu.check == nil {
		c.mu.check = time.AfterFunc(time.Until(at), c.checkAnswers)
	} else {
		c.mu.check.Reset(time.Until(at))
	}
}

// checkAnswers ends the session where a reply is overdue, nothing has come since the request was
// sent, and nothing comes to a cancel of nothing: a server that compiles, for this session or
// another one, answers that at once, or says again and again that it reads no more requests until
// it has done those before. It runs again where a reply is expected.
func (c *Client) checkAnswers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.checkAt = time.Time{}
	w := c.firstDue()
	switch {
	case w == nil || c.mu.ended != nil:
		return
	case time.Since(w.due) < answerGrace:
	case w.seen != c.mu.replies:
		w.seen, w.due, w.late = c.mu.replies, time.Now().Add(w.limit), false
	case !w.late:
		go c.startLater(&call{sent: wire.TypeCancel}, &wire.Cancel{Request: w.request + 1<<63})
		for _, w := range c.mu.calls { // all at once, however many there are
			if !w.waits && time.Since(w.due) >= answerGrace {
				w.late, w.due = true, time.Now()
			}
		}
	default:
		go c.end(fmt.Errorf("%w: it did not answer a %v: it is stopped or hangs", ErrServerGone, w.sent))
		return
	}
	c.expectAnswer(w)
}

// firstDue returns the request whose reply is due first, or nil. mu is held.
func (c *Client) firstDue() (first *call) {
	for _, w := range c.mu.calls {
		if !w.waits && (first == nil || w.due.Before(first.due)) {
			first = w
		}
	}
	return first
}
