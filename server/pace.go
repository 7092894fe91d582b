//go:build linux

package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// ahead is the work, in time of the GPU, that a session may have on the GPU or queued
// there: a job of another session waits for so much of each of them. It is long enough to
// keep the GPU busy while results are answered and further jobs arrive.
const ahead = 4 * time.Millisecond

// leastAhead is the number of jobs that a session may have there however long they take:
// one that runs and one that follows.
const leastAhead = 2

// pace limits the jobs that a session has on the GPU by the time that they take.
type pace struct {
	last *atomic.Int64 // when a job of any session was done last, in nanoseconds since start

	mu struct {
		sync.Mutex
		room *sync.Cond
		jobs int
		mean time.Duration // of a job, over about the last 16
	}
}

func newPace(last *atomic.Int64) *pace {
	p := &pace{last: last}
	p.mu.room = sync.NewCond(&p.mu.Mutex)
	p.mu.mean = ahead // until jobs have shown that they are shorter
	return p
}

// enter waits until the session may submit one more job, or the request ends.
func (p *pace) enter(t *task) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.isFull() {
		ctx := t.patience()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		stop := context.AfterFunc(ctx, p.signal)
		p.mu.room.Wait()
		stop()
	}
	p.mu.jobs++
	return nil
}

// signal has enter look again.
func (p *pace) signal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.room.Signal()
}

// isFull reports whether the session has to wait. mu is held.
func (p *pace) isFull() bool {
	return p.mu.jobs >= leastAhead && time.Duration(p.mu.jobs)*p.mu.mean > ahead
}

// hasRoom reports whether enter would return at once.
func (p *pace) hasRoom() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.isFull()
}

// isShort reports whether jobs take less than limit.
func (p *pace) isShort(limit time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.mean < limit
}

// leave is called when a job is done, or was not submitted: then with took below 0.
func (p *pace) leave(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.jobs--
	if took >= 0 {
		p.mu.mean += (took - p.mu.mean) / 16
	}
	p.mu.room.Signal()
}

// took returns the time that a job took on the GPU, which it had to itself since its
// submission or the end of the job before.
func (p *pace) took(submitted, now time.Duration) time.Duration {
	before := p.last.Swap(int64(now))
	return now - max(submitted, time.Duration(before))
}
