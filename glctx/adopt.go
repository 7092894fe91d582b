//go:build linux

package glctx

import (
	"errors"
	"syscall"
)

// Adopt uses a context that the caller owns: a game engine's, a toolkit's. It
// must be called on the thread where that context is current.
//
// schedule is called from any goroutine whenever work is waiting, and must see
// to it that Poll runs soon on that thread with the context current: in most
// engines that is "run this function on the render thread". A nil schedule
// means that the caller's loop calls Poll regularly by itself, for example once
// a frame.
//
// Nothing in the context is changed that is not put back: the current program
// and the indirect buffer binding survive. The driver's own cache is managed
// only if no driver was loaded yet, which is rarely so here: see
// Context.DriverCache. Close leaves the context to its owner.
func Adopt(o Options, schedule func()) (*Context, error) {
	c := newContext(o)
	if schedule == nil {
		schedule = func() {}
	}
	c.schedule = schedule
	c.driver = ManageDriverCache(o)
	c.enter()
	defer c.thread.Store(0)
	if err := c.begin(); err != nil {
		return nil, errors.Join(errors.New("glctx: adopt: is the context current on this thread?"), err)
	}
	return c, nil
}

// Poll runs what is waiting for an adopted context. It must be called on the
// context's thread with the context current, not inside a callback. It returns
// how many callbacks ran.
func (c *Context) Poll() int {
	if c.schedule == nil {
		panic("glctx: Poll is for adopted contexts; this one has a thread of its own")
	}
	c.enter()
	defer c.thread.Store(0)
	batch := c.queue.tryTake(nil)
	c.runBatch(batch)
	return len(batch)
}

// enter notes that callbacks run on this thread until thread is cleared.
func (c *Context) enter() {
	here := int64(syscall.Gettid())
	c.owner.Store(here)
	c.thread.Store(here)
}

// closeAdopted runs on any goroutine. The few objects that we made in the
// caller's context are freed when Close is called on the context's thread or by
// the last Poll; otherwise they end with the context.
func (c *Context) closeAdopted() {
	c.put(job{post: func(gl *GL) { c.end() }})
	c.queue.close()
	close(c.stopped)
}
