//go:build linux

package resident

import (
	"context"
	"time"
)

// Priority says how soon a preemption is wanted.
type Priority struct {
	// Level is 0 to 100. From 50 on ticks that are under way are asked to end
	// early. The most urgent one goes first; who waits gains 10 with each one
	// that goes before.
	Level int

	// Deadline is how long it may take until the session has yielded. Ticks
	// are kept to half of that for a second, so that the next one is in time.
	// Default: 0, as long as a tick takes.
	Deadline time.Duration
}

// hurried is the level from which ticks end early.
const hurried = 50

// boundTime is how long ticks stay short after a deadline.
const boundTime = time.Second

// PreemptResult is how a preemption went.
type PreemptResult struct {
	Waited time.Duration // until the session had yielded
	Late   bool          // that was after the deadline
}

// Preempt has the session yield at its next boundary, calls fn, and lets the
// session go on. fn may use the context as it likes, jobs of an executor
// included, but no method of the session that waits for a boundary. Between
// two preemptions the session does at least one tick with steps in it, so that
// neither side starves. It returns what fn returned.
func (s *Session) Preempt(ctx context.Context, u Priority, fn func(ctx context.Context) error) (PreemptResult, error) {
	began := time.Now()
	var y PreemptResult
	if u.Deadline > 0 {
		s.bound(u.Deadline / 2)
	}
	err := s.atBoundary(ctx, &ask{preempt: true, hurry: u.Level >= hurried, urgency: u.Level, do: func() error {
		y.Waited = time.Since(began)
		y.Late = u.Deadline > 0 && y.Waited > u.Deadline
		s.counts.preemptions.Add(1)
		return fn(ctx)
	}})
	return y, err
}

// bound keeps ticks below d for a while.
func (s *Session) bound(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().After(s.mu.boundUntil) || d < s.mu.bound {
		s.mu.bound = d
	}
	s.mu.boundUntil = time.Now().Add(boundTime)
}

// tickTime is how long a submission should take now.
func (s *Session) tickTime(wanted time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.mu.boundUntil) {
		return min(wanted, s.mu.bound)
	}
	return wanted
}
