package glctx

import (
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/shadercache/shadercache/drivercache"
)

// Adopt returns a Context for a GL context that the caller owns, such as that of a
// game engine or a toolkit. It must be called on the thread where that context is
// current.
//
// schedule is called, from any goroutine, when a callback is queued. It must cause a
// call of Poll soon on that thread with the context current: most engines have a
// function that runs another on the render thread. It must not call Poll itself:
// a callback that posts would then poll inside itself, which panics. A nil schedule
// means that the caller's loop calls Poll regularly, for example once a frame. Calls
// that wait on that thread, such as Do, cache.Cache.Get and executor.Pending.Wait,
// poll meanwhile.
//
// Loading and compiling programs restores the state that it changes: the current
// program and the indirect buffer binding. Callbacks and package executor do not
// restore what they bind. Adopt, and a Poll that runs callbacks, clear the error flags:
// what the owner's calls left there is no error of a callback.
//
// The driver's own cache can be managed only before the driver is loaded: call
// ManageDriverCache before the toolkit makes its window. Context.DriverCache reports
// whether that succeeded. Close does not destroy the context.
//
// The context should outlive Close. Where a call waits on the context's thread and no
// context is current there, because the window was destroyed before, the context
// counts as lost: every call returns shader.ErrContextLost, and Close returns.
//
// The context may be of desktop OpenGL from 4.3 or OpenGL ES from 3.1: see [Kind].
//
// It returns ErrNoDevice or ErrKind, wrapped, for a Device or a Kind, which the owner
// has chosen already, ErrTooOld for a context of an older version, and ErrNoDriver where
// none is current.
func Adopt(o Options, schedule func()) (*Context, error) {
	if o.Device != "" {
		return nil, fmt.Errorf("glctx: adopt: %w %q: the owner of the context has chosen its GPU; leave Device empty", ErrNoDevice, o.Device)
	}
	if o.Kind != (Kind{}) {
		return nil, fmt.Errorf("glctx: adopt: %w: the owner of the context has chosen it; leave Kind empty", ErrKind)
	}
	if o.Priority != "" {
		return nil, fmt.Errorf("glctx: adopt: the owner of the context has chosen its priority; leave Priority empty, not %v", o.Priority)
	}
	c := newContext(o)
	if schedule == nil {
		schedule = func() {}
	}
	c.schedule, c.pending = schedule, make(chan struct{}, 1)
	c.driver = ManageDriverCache(o)
	if !o.Fresh {
		drivercache.FirstProgram() // the owner of the context may have had some
	}
	c.enterThread()
	defer c.thread.Store(0)
	if err := c.setUp(); err != nil {
		return nil, fmt.Errorf("glctx: adopt: %w", err)
	}
	return c, nil
}

// Poll runs the queued callbacks of an adopted context and returns their number. It
// must be called on the context's thread with the context current, and not inside a
// callback. It panics on another thread where no context is current; on the context's
// own, the context is lost then. A panic of a Post callback propagates, also of one that
// ran while another call waited on this thread; later callbacks stay queued.
func (c *Context) Poll() int { return c.PollFor(math.MaxInt64) }

// PollFor is Poll with a budget: a callback begins if what is left is enough for the
// longest of this call so far, and else stays queued for the next call. It runs at least
// one. A callback that has begun is not interrupted: a compile on this thread takes what
// it takes, see [Beside].
func (c *Context) PollFor(budget time.Duration) int {
	c.enterPoll()
	defer c.thread.Store(0)
	defer func() {
		if c.queue.waiting.Load() { // for lack of time, or after a panic
			c.requestPoll()
		}
	}()
	ran, began := 0, time.Now()
	used, longest := time.Duration(0), time.Duration(0)
	for range c.queue.len() {
		ran++
		c.runJob(c.queue.takeQueued())
		now := time.Since(began)
		used, longest = now, max(longest, now-used)
		if used >= budget-longest {
			break
		}
	}
	if v := c.postponed; v != nil {
		c.postponed = nil
		panic(v)
	}
	return ran
}

// pollWaiting is Poll for calls that wait on the context's thread. The first panic of
// a Post callback is left to the next Poll: it must not end the call, which may hold
// locks that other goroutines need.
func (c *Context) pollWaiting() {
	c.enterPoll()
	defer c.thread.Store(0)
	for range c.queue.len() {
		c.runWaiting(c.queue.takeQueued())
	}
}

func (c *Context) runWaiting(j callback) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		c.logger.Error("a callback of Post panicked", "panic", v, "stack", string(debug.Stack()))
		if c.postponed == nil {
			c.postponed = v
		}
	}()
	c.runJob(j)
}

// enterPoll prepares this thread for callbacks. The caller clears c.thread.
func (c *Context) enterPoll() {
	here := threadID()
	switch {
	case c.schedule == nil:
		panic("glctx: Poll is for adopted contexts; this one has a thread of its own")
	case c.thread.Load() == here:
		panic("glctx: Poll called inside a callback")
	case isCurrent():
	case c.adoptedThread.Load() == here:
		if !c.gone.Swap(true) {
			c.logger.Error("an adopted context is lost: none is current on its thread")
		}
		c.lost.Store(true)
	default:
		panic("glctx: Poll was called on a thread where no context is current")
	}
	c.enterThread()
	if c.queue.waiting.Load() && !c.gone.Load() {
		_ = c.gl.Err() // of the owner's calls
	}
}

// Pending returns a channel that receives when callbacks are queued, if it is called
// on the thread of an adopted context, and nil on other threads. Code that waits on
// the adopted thread for the result of a callback must call Poll when it receives,
// since no other thread can. Do and the packages of this module do so; PollWhile is
// for other code. Inside a callback of Do or Post it panics: the callback would wait
// for itself.
func (c *Context) Pending() <-chan struct{} {
	here := threadID()
	if c.thread.Load() == here {
		panic("glctx: a wait for the GL thread inside a callback of Do or Post would wait for itself")
	}
	if c.schedule == nil || c.adoptedThread.Load() != here {
		return nil
	}
	return c.pending
}

// PollWhile calls wait, which waits for the result of a callback. On the thread of an
// adopted context it runs wait on another goroutine and polls until wait returns.
// Inside a callback it panics, as Pending does.
func (c *Context) PollWhile(wait func()) {
	pending := c.Pending()
	if pending == nil {
		wait()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	for {
		select {
		case <-done:
			return
		case <-pending:
			c.pollWaiting()
		}
	}
}

// enterThread records that callbacks run on this thread until c.thread is cleared.
func (c *Context) enterThread() {
	here := threadID()
	c.adoptedThread.Store(here)
	c.thread.Store(here)
}

// closeAdopted closes an adopted context, on any goroutine. On the context's thread it
// runs the queued callbacks and deletes the objects that setUp made. On other threads
// the next Poll does that, if there is one.
func (c *Context) closeAdopted() {
	c.put(callback{post: func(gl *GL) { c.tearDown() }}, false)
	c.queue.close()
	if here := threadID(); c.adoptedThread.Load() == here && c.thread.Load() != here {
		c.pollWaiting()
	}
	close(c.stopped)
}
