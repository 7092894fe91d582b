//go:build linux

package resident

import (
	"context"
	"time"
)

// Priority is the priority of a preemption.
type Priority struct {
	// Level is 0 to 100. From 50 on, running ticks are requested to end early. The
	// highest level is served first; a waiting preemption gains 10 with each one that is
	// served before it.
	Level int

	// Deadline bounds the time until the session yields. For a second, ticks are kept to
	// half of it, so that the next deadline is met too. Default: 0, the rest of a tick.
	Deadline time.Duration
}

// earlyLevel is the level from which ticks are requested to end early.
const earlyLevel = 50

// PreemptResult is the outcome of a preemption.
type PreemptResult struct {
	Waited time.Duration // until the session yielded
	Late   bool          // that was after the deadline
}

// Preempt has the session yield at its next boundary, calls fn, and lets the session
// continue. fn may use the context, with jobs of an executor too, but no method of the
// session that waits for a boundary. Between two preemptions the session does at least
// one tick with steps, so that neither side starves. It returns the error of fn.
func (s *Session) Preempt(ctx context.Context, p Priority, fn func(ctx context.Context) error) (PreemptResult, error) {
	began := time.Now()
	var result PreemptResult
	if p.Deadline > 0 {
		s.run.locked(func() { s.run.limit.Lower(p.Deadline / 2) })
	}
	err := s.atBoundary(ctx, &request{preempt: true, early: p.Level >= earlyLevel, priority: p.Level, do: func(sc *scheduler) error {
		result.Waited = time.Since(began)
		result.Late = p.Deadline > 0 && result.Waited > p.Deadline
		sc.run.count(func(n *Stats) { n.Preemptions++ })
		return fn(ctx)
	}})
	return result, err
}
