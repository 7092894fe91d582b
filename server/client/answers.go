//go:build linux

package client

import (
	"cmp"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// The time for a reply. A server answers a job, copy, run or upload of weights at its
// deadline at the latest, and compiles for 10 minutes at most.
const (
	answerTime  = time.Minute
	compileTime = 11 * time.Minute
	longestTime = 1000 * time.Hour // whatever the server says
)

// answerGrace is the time beyond that until a server counts as gone. This process may have
// been stopped as well: replies that came meanwhile have as much time again to be read.
// Variable for tests.
var answerGrace = 5 * time.Second

// answerLimit returns the time for the reply to a request.
func (c *Client) answerLimit(m wire.Message) time.Duration {
	var deadline uint64
	switch m := m.(type) {
	case *wire.Program, *wire.Plan:
		return compileTime
	case *wire.Job:
		deadline = m.Deadline
	case *wire.Copy:
		deadline = m.Deadline
	case *wire.Weights:
		deadline = m.Deadline
	case *wire.Run:
		deadline = m.Deadline
	default:
		return answerTime
	}
	deadline = cmp.Or(deadline, c.welcome.Limits.Deadline)
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

// checkAnswers ends the session where a reply is overdue, no other one has come since the
// request was sent, and none comes to a cancel of nothing. It runs again where one is expected.
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
		// A server that compiles for another session answers this, and copies when that is done.
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

const (
	maxRead   = 512 // unanswered requests that a server reads, where they are small
	maxHanded = 32  // with files: a server reads some 60, and no more then, also no cancel
)

// firstDue returns the request whose reply is due first, or nil. What is answered in order may
// wait for a program that is compiled, and so may what the server has not read. mu is held.
func (c *Client) firstDue() (first *call) {
	compiles, unread := false, len(c.mu.calls) > maxRead
	for _, w := range c.mu.calls {
		compiles = compiles || w.limit == compileTime
	}
	for _, w := range c.mu.calls {
		waits := w.waits || compiles && (w.limit == answerTime || (unread || w.unsent) && w.limit != compileTime)
		if !waits && (first == nil || w.due.Before(first.due)) {
			first = w
		}
	}
	return first
}
