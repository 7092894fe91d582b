//go:build linux

package glctx

import (
	"fmt"
	"syscall"

	gl45 "github.com/go-gl/gl/v4.5-core/gl"
)

// Adopt uses a context that the caller owns: a game engine's, a toolkit's. It
// must be called on the thread where that context is current.
//
// schedule is called from any goroutine whenever work is waiting, and must see
// to it that Poll runs soon on that thread with the context current: in most
// engines that is "run this function on the render thread". It must not call Poll
// itself: a callback that posts would poll inside itself, which panics. A nil
// schedule means that the caller's loop calls Poll regularly by itself, for example
// once a frame. Whoever waits on that thread itself, in Do, cache.Cache.Get or
// executor.Pending.Wait, polls meanwhile.
//
// Loading and compiling programs changes nothing in the context that is not put
// back: the current program and the indirect buffer binding survive. Callbacks
// leave what they have bound, and so does package executor.
//
// The driver's own cache can be managed only before the driver is loaded: call
// ManageDriverCache before the toolkit makes its window. Context.DriverCache says
// whether it was in time. Close leaves the context to its owner.
func Adopt(o Options, schedule func()) (*Context, error) {
	c := newContext(o)
	if schedule == nil {
		schedule = func() {}
	}
	c.schedule, c.work = schedule, make(chan struct{}, 1)
	c.driver = ManageDriverCache(o)
	c.enter()
	defer c.thread.Store(0)
	if err := c.begin(); err != nil {
		return nil, fmt.Errorf("glctx: adopt: is the context current on this thread? %w", err)
	}
	return c, nil
}

// Poll runs what is waiting for an adopted context. It must be called on the
// context's thread with the context current, not inside a callback, and panics
// where no context is. It returns how many callbacks ran.
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
	c.enter()
	defer c.thread.Store(0)
	batch := c.queue.tryTake(nil)
	c.runBatch(batch)
	return len(batch)
}

// Pending is asked by those who are about to wait for something that this context
// has to do, where PollWhile does not suit them; Do and the packages of this module ask
// by themselves. On the thread of an adopted context it returns a channel that
// receives when Poll has something to do: whoever waits there has to call Poll
// meanwhile, because nobody else can. Anywhere else it returns nil. Inside a
// callback of Do or Post it panics: the wait would be for the callback itself.
func (c *Context) Pending() <-chan struct{} {
	here := int64(syscall.Gettid())
	if c.thread.Load() == here {
		panic("glctx: a wait for the GL thread inside a callback of Do or Post would wait for itself")
	}
	if c.schedule == nil || c.owner.Load() != here {
		return nil
	}
	return c.work
}

// enter notes that callbacks run on this thread until thread is cleared.
func (c *Context) enter() {
	here := int64(syscall.Gettid())
	c.owner.Store(here)
	c.thread.Store(here)
}

// isCurrent reports whether any context is current on this thread.
func isCurrent() bool { return gl45.GetString(gl45.VERSION) != nil }

// closeAdopted runs on any goroutine. On the context's thread it runs what is
// waiting and frees the few objects that we made in the caller's context; anywhere
// else that is left to the last Poll, and where the context is gone, to nobody.
func (c *Context) closeAdopted() {
	c.put(job{post: func(gl *GL) { c.end() }})
	c.queue.close()
	if here := int64(syscall.Gettid()); c.owner.Load() == here && c.thread.Load() != here && isCurrent() {
		c.Poll()
	}
	close(c.stopped)
}
