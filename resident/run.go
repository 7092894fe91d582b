//go:build linux

package resident

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/resident/internal/pace"
)

// runState is the state of a run that callers and the scheduler share. It uses no GL.
type runState struct {
	attention atomic.Bool   // a caller needs the next boundary soon
	sleeping  atomic.Bool   // the scheduler waits for work, not for a tick
	woken     atomic.Bool   // a caller was woken by a change
	wake      chan struct{} // holds one wake-up of the scheduler
	ended     chan struct{} // closed when the scheduler has ended

	mu sync.Mutex
	runView
	began    uint64 // progress at the beginning of the run
	idleAt   uint32 // the number of the last message that groups had when they were idle
	signal   Signal // of the last run
	stats    Stats
	requests []*request
	limit    pace.Limit
	changed  chan struct{}   // closed and replaced after each change that is watched
	watched  bool            // changed was handed out since it was replaced
	also     chan<- struct{} // gets a wake-up after each change; nil: none
}

func newRunState(base uint64) *runState {
	return &runState{wake: make(chan struct{}, 1), ended: make(chan struct{}), changed: make(chan struct{}), runView: runView{base: base, progress: base}}
}

// startRun begins a run: see Session.Start.
func (r *runState) startRun(steps uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return errClosed
	case r.failure != nil:
		return r.failure
	case r.running:
		return ErrRunning
	}
	r.running, r.stopping, r.idle = true, false, false
	r.signal = Signal{}
	r.began = r.progress
	r.goal = r.progress + steps
	if steps == 0 || r.goal < steps {
		r.goal = ^uint64(0)
	}
	r.wakeScheduler()
	return nil
}

// locked calls fn, which accesses the state, with mu locked.
func (r *runState) locked(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
}

// markClosed marks the session as closed and reports whether it was open.
func (r *runState) markClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	wasOpen := !r.closed
	r.closed = true
	return wasOpen
}

// err returns the failure of the session, or shader.ErrClosed.
func (r *runState) err() error {
	v := r.view()
	if v.failure == nil && v.closed {
		return errClosed
	}
	return v.failure
}

// waitOutcome waits for the end of the run and returns its outcome.
func (r *runState) waitOutcome(ctx context.Context) (out Outcome, err error) {
	err = r.until(ctx, func() bool {
		out = Outcome{Steps: r.progress - min(r.began, r.progress), Signal: r.signal}
		return !r.running
	})
	return out, err
}

// waitIdle waits until all groups are idle and have had the message of a number.
func (r *runState) waitIdle(ctx context.Context, number uint32) error {
	return r.until(ctx, func() bool { return r.idle && int32(r.idleAt-number) >= 0 || !r.running })
}

// until waits until met holds and returns nil, or the failure of the session. met is
// called with mu held.
func (r *runState) until(ctx context.Context, met func() bool) error {
	for {
		r.mu.Lock()
		ok, failure, closed, changed := met(), r.failure, r.closed, r.changed
		r.watched = true
		r.mu.Unlock()
		switch {
		case failure != nil:
			return failure
		case ok:
			return nil
		case closed:
			select {
			case <-r.ended:
				return errClosed
			case <-changed:
				continue
			}
		}
		select {
		case <-changed:
		case <-r.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch returns a channel that is closed at the next change, and the error of a session
// that has failed or is closed.
func (r *runState) watch() (changed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watched = true
	if r.failure == nil && r.closed {
		return r.changed, errClosed
	}
	return r.changed, r.failure
}

// notify wakes the callers that wait for a change.
func (r *runState) notify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notifyLocked()
}

func (r *runState) notifyLocked() {
	if r.watched {
		close(r.changed)
		r.woken.Store(true)
		r.changed, r.watched = make(chan struct{}), false
	}
	wakeUp(r.also)
}

// wakeScheduler ends a sleep of the scheduler.
func (r *runState) wakeScheduler() { wakeUp(r.wake) }

// wakeUp puts a wake-up into a channel that holds one. A nil channel takes none.
func wakeUp(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// setFailure ends the session with an error, which callers get from now on.
func (r *runState) setFailure(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = err
	r.running = false
	r.notifyLocked()
}

// dismiss answers the requests that are left when the session is closed.
func (r *runState) dismiss() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.requests {
		q.done <- errClosed
	}
	r.requests = nil
	r.running = false
	r.notifyLocked()
}

// boundary is what a boundary publishes.
type boundary struct {
	base, progress uint64
	signal         Signal
	idle, halted   bool   // all groups are
	sent           uint32 // the number of the last message before
}

// publishBoundary makes a boundary visible to callers, with the steps since the last one,
// and ends the run where it is over.
func (r *runState) publishBoundary(b boundary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil {
		return
	}
	r.stats.Steps += b.progress - min(r.progress, b.progress)
	r.base, r.progress, r.idle, r.idleAt = b.base, b.progress, b.idle, b.sent
	switch {
	case b.signal.Kind != SignalRunning:
		r.signal, r.running = b.signal, false
	case b.halted:
		r.signal, r.running = Signal{Kind: SignalHalt}, false
	case r.progress >= r.goal, r.stopping:
		r.running = false
	}
	r.notifyLocked()
}

// restored publishes the position of a checkpoint.
func (r *runState) restored(base, steps uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base, r.progress, r.began = base, steps, steps
	r.signal, r.idle = Signal{}, false
	r.notifyLocked()
}

// runView is the part of the state of a run of which view returns a consistent copy.
type runView struct {
	base     uint64 // steps before the epoch
	progress uint64 // steps that every group had done at the last boundary
	goal     uint64 // steps to reach
	running  bool
	stopping bool
	closed   bool
	idle     bool // all groups are idle and the inbox is empty
	failure  error
	saving   error // of the last checkpoint that could not be saved
}

func (r *runState) view() runView {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runView
}

// count changes the counters.
func (r *runState) count(change func(n *Stats)) { r.locked(func() { change(&r.stats) }) }

// tickTime returns how long a submission should take: target, or less after a deadline.
func (r *runState) tickTime(target time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit.Apply(target)
}
