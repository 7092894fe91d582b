package glctx

import (
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/internal/futex"
)

// Timer runs a callback on the GL thread at a time, within about 10 us: Go's own timers have
// a granularity of 1 ms in a process that is otherwise idle. GL.NewTimer makes it.
//
// Where processors are left for it the GL thread sleeps in the kernel until then, so that no
// other thread has to be woken. Where there are few, and for an adopted context, whose thread
// is not ours, a goroutine waits and posts the callback.
type Timer struct {
	c     *Context
	fn    func(*GL)
	at    time.Time // zero: not set
	clock *timerFD  // nil: the GL thread sleeps
}

// NewTimer returns a timer that runs fn as a callback. Close ends it.
func (gl *GL) NewTimer(fn func(gl *GL)) (*Timer, error) {
	t := &Timer{c: gl.c, fn: fn}
	if gl.c.schedule == nil && futex.MaySleep() {
		gl.c.queue.timers = append(gl.c.queue.timers, t)
		return t, nil
	}
	clock, err := newTimerFD()
	if err != nil {
		return nil, fmt.Errorf("glctx: %w", err)
	}
	t.clock = clock
	go clock.run(func() { t.c.PostFirst(fn) })
	return t, nil
}

// Set has the callback run once, after d, in place of what was set before. It is for
// callbacks.
func (t *Timer) Set(d time.Duration) {
	if t.clock != nil {
		t.clock.set(d)
		return
	}
	t.at = time.Now().Add(d)
}

// Close ends the timer. Any goroutine may call it. A callback whose time has come may still
// begin.
func (t *Timer) Close() {
	if t.clock != nil {
		t.clock.close()
		return
	}
	q := t.c.queue
	t.c.Post(func(*GL) {
		q.timers = slices.DeleteFunc(q.timers, func(other *Timer) bool { return other == t })
	})
}
