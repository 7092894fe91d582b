package glctx

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/glctx/futex"
)

// Timer runs a callback on the GL thread at a time, within about 10 us: Go's own timers have
// a granularity of 1 ms in a process that is otherwise idle. The GL thread sleeps until
// then, so that no other thread has to be woken. GL.NewTimer makes it.
type Timer struct {
	gl    *GL
	fn    func(*GL)
	at    time.Time // zero: not set
	alarm *alarm    // of an adopted context, which has no thread that could sleep
}

// NewTimer returns a timer that runs fn as a callback. Close ends it.
func (gl *GL) NewTimer(fn func(gl *GL)) *Timer {
	t := &Timer{gl: gl, fn: fn}
	if gl.c.schedule == nil {
		gl.c.queue.timers = append(gl.c.queue.timers, t)
		return t
	}
	t.alarm = &alarm{}
	go t.alarm.run(func() { gl.c.Post(fn) })
	return t
}

// Set has the callback run once, after d, in place of what was set before. It is for
// callbacks.
func (t *Timer) Set(d time.Duration) {
	if t.alarm != nil {
		t.alarm.set(d)
		return
	}
	t.at = time.Now().Add(d)
}

// Close ends the timer. Any goroutine may call it. A callback may begin until callbacks that
// are posted afterwards do.
func (t *Timer) Close() {
	if t.alarm != nil {
		t.alarm.close()
		return
	}
	q := t.gl.c.queue
	t.gl.c.Post(func(*GL) {
		q.timers = slices.DeleteFunc(q.timers, func(other *Timer) bool { return other == t })
	})
}

// dueTimers appends the callbacks of the timers whose time has come, and returns the time
// until the next one, or futex.NoLimit. The GL thread calls it.
func (q *queue) dueTimers(due []job) ([]job, time.Duration) {
	next := futex.NoLimit
	for _, t := range q.timers {
		if t.at.IsZero() {
			continue
		}
		if left := time.Until(t.at); left > 0 {
			next = min(next, left)
			continue
		}
		t.at = time.Time{}
		due = append(due, job{post: t.fn})
	}
	return due, next
}

// alarm is a goroutine that calls a function at a time.
type alarm struct {
	sleeper futex.Sleeper

	mu struct {
		sync.Mutex
		at       time.Time // zero: not set
		sleeping bool
		closed   bool
	}
}

// set has the function called once, after d, in place of what was set before.
func (a *alarm) set(d time.Duration) {
	a.change(func() { a.mu.at = time.Now().Add(d) })
}

func (a *alarm) close() {
	a.change(func() { a.mu.closed = true })
}

// change calls fn with mu held, and has run see what it changed.
func (a *alarm) change(fn func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fn()
	if a.mu.sleeping {
		a.mu.sleeping = false
		a.sleeper.Wake()
	}
}

// run calls fn each time the alarm goes off, until close.
func (a *alarm) run(fn func()) {
	runtime.LockOSThread() // not unlocked: no other goroutine gets a thread that is set up so
	futex.SleepExactly()
	for {
		left, closed := a.left()
		switch {
		case closed:
			return
		case left <= 0:
			fn()
		default:
			a.sleeper.Sleep(left)
		}
	}
}

// left returns the time until the alarm goes off, futex.NoLimit where it is not set. run sleeps
// then; or it is to call the function, with 0.
func (a *alarm) left() (left time.Duration, closed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left = futex.NoLimit
	if !a.mu.at.IsZero() {
		left = max(0, time.Until(a.mu.at))
	}
	if left == 0 {
		a.mu.at = time.Time{}
	} else if a.mu.sleeping = !a.mu.closed; a.mu.sleeping {
		a.sleeper.Prepare(left)
	}
	return left, a.mu.closed
}
