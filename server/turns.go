//go:build linux

package server

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// turns shares memory that jobs need among sessions. A semaphore with one waiter for each
// session serves them in turn.
type turns struct {
	free     *semaphore.Weighted
	capacity int64
	least    int64 // of one job
}

// newTurns shares bytes of memory among at most that many jobs.
func newTurns(jobs, bytes int) *turns {
	return &turns{free: semaphore.NewWeighted(int64(bytes)), capacity: int64(bytes), least: int64(bytes / jobs)}
}

// acquire takes a turn for a job with that many bytes in and out, and returns what release has to
// be called with. It waits for the turn until ctx ends.
func (t *turns) acquire(ctx context.Context, in, out int) (weight int64, err error) {
	weight = min(max(int64(in), int64(out), t.least), t.capacity)
	if !t.free.TryAcquire(weight) {
		err = t.free.Acquire(ctx, weight)
	}
	return weight, err
}

func (t *turns) release(weight int64) { t.free.Release(weight) }
