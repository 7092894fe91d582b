//go:build linux

package glctx

import (
	"fmt"
	"syscall"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
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
// restore what they bind.
//
// The driver's own cache can be managed only before the driver is loaded: call
// ManageDriverCache before the toolkit makes its window. Context.DriverCache reports
// whether that succeeded. Close does not destroy the context.
func Adopt(o Options, schedule func()) (*Context, error) {
	c := newContext(o)
	if schedule == nil {
		schedule = func() {}
	}
	c.schedule, c.pending = schedule, make(chan struct{}, 1)
	c.driver = ManageDriverCache(o)
	c.enterThread()
	defer c.thread.Store(0)
	if err := c.setUp(); err != nil {
		return nil, fmt.Errorf("glctx: adopt: is the context current on this thread? %w", err)
	}
	return c, nil
}

// Poll runs the queued callbacks of an adopted context and returns their number. It
// must be called on the context's thread with the context current, and not inside a
// callback. It panics where no context is current.
func (c *Context) Poll() int {
	if c.schedule == nil {
		panic("glctx: Poll is for adopted contexts; this one has a thread of its own")
	}
	if c.thread.Load() == int64(syscall.Gettid()) {
		panic("glctx: Poll called inside a callback")
	}
	if !isCurrent() {
		panic("glctx: Poll was called on a thread where no context is current")
	}
	c.enterThread()
	defer c.thread.Store(0)
	batch := c.queue.tryTake(nil)
	c.runBatch(batch)
	return len(batch)
}

// Pending returns a channel that receives when callbacks are queued, if it is called
// on the thread of an adopted context, and nil on other threads. Code that waits on
// the adopted thread for the result of a callback must call Poll when it receives,
// since no other thread can. Do and the packages of this module do so; PollWhile is
// for other code. Inside a callback of Do or Post it panics: the callback would wait
// for itself.
func (c *Context) Pending() <-chan struct{} {
	here := int64(syscall.Gettid())
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
			c.Poll()
		}
	}
}

// enterThread records that callbacks run on this thread until c.thread is cleared.
func (c *Context) enterThread() {
	here := int64(syscall.Gettid())
	c.adoptedThread.Store(here)
	c.thread.Store(here)
}

// isCurrent reports whether any context is current on this thread.
func isCurrent() bool { return gl45.GetString(gl45.VERSION) != nil }

// closeAdopted closes an adopted context, on any goroutine. On the context's thread it
// runs the queued callbacks and deletes the objects that setUp made. On other threads
// the next Poll does that, if there is one.
func (c *Context) closeAdopted() {
	c.put(job{post: func(gl *GL) { c.tearDown() }})
	c.queue.close()
	if here := int64(syscall.Gettid()); c.adoptedThread.Load() == here && c.thread.Load() != here && isCurrent() {
		c.Poll()
	}
	close(c.stopped)
}
