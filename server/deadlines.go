//go:build linux

package server

import (
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// deadlines is the timer of a session's requests. It is set for the next deadline when it
// was set last, and not touched when a request is answered: a timer for each request costs
// system calls. session.mu guards it.
type deadlines struct {
	timer *time.Timer
	at    time.Time // when it fires; zero: it does not
}

// cover has the timer fire at t at the latest.
func (d *deadlines) cover(t time.Time) {
	if d.at.IsZero() || t.Before(d.at) {
		d.at = t
		d.timer.Reset(time.Until(t))
	}
}

// expire answers the requests whose deadline has passed. Of those that are being performed, which no
// deadline ends, the client hears that the server goes on. The timer calls it.
func (s *session) expire() {
	performed := false
	for _, t := range s.expired(time.Now()) {
		performed = !t.expire() || performed
	}
	if performed && s.ctx.Err() == nil {
		_ = s.wakeClient()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mu.deadlines.cover(time.Now().Add(goesOnTime))
	}
}

// expire answers the request, if it is unanswered, and reports whether it was.
func (t *task) expire() bool {
	ended := t.end(wire.CodeDeadline, "the deadline passed")
	if ended {
		t.s.server.counts.deadlines.Add(1)
	}
	return ended
}

// expireIfLate answers a request whose deadline has passed, where the timer is late.
func (t *task) expireIfLate() {
	if !t.deadline.IsZero() && time.Now().After(t.deadline) {
		t.expire()
	}
}

// expired returns the requests whose deadline is not after now, and sets the timer for the
// next of the others.
func (s *session) expired(now time.Time) (late []*task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.deadlines.at = time.Time{}
	for _, t := range s.mu.unanswered {
		switch {
		case t.deadline.IsZero():
		case t.deadline.After(now):
			s.mu.deadlines.cover(t.deadline)
		default:
			late = append(late, t)
		}
	}
	return late
}
