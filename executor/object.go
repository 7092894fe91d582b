package executor

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/shadercache/shadercache/glctx"
)

// object is what [Memory] and [Texture] have in common: a GL object that jobs in flight
// retain.
type object struct {
	e        *Executor
	owners   atomic.Int32 // the caller and every batch that uses it
	released atomic.Bool
	free     func(gl *glctx.GL) // deletes the GL object

	lastUse uint64 // the newest batch that uses it; guarded by Executor.mu

	// Numbers of the barriers before the last read and write: see recorder.
	readAt, writtenAt uint64
}

// Release releases the caller's reference. It does not wait: jobs in flight keep the
// object until the GPU has finished them. It may be called again, and after
// Executor.Close.
func (o *object) Release() {
	if !o.released.Swap(true) {
		o.removeOwner()
	}
}

// retain adds an owner. It panics when the object has none any more.
func (o *object) retain() {
	if o.owners.Add(1) == 1 {
		o.owners.Add(-1)
		panic("executor: Memory or a Texture was released while Submit was using it")
	}
}

// removeOwner removes an owner and deletes the object with the last one.
func (o *object) removeOwner() {
	if o.owners.Add(-1) == 0 {
		o.e.context.Post(o.free)
	}
}

// Wait waits for the jobs submitted so far that use the object.
func (o *object) Wait(ctx context.Context) error {
	o.e.mu.Lock()
	last := o.lastUse
	o.e.mu.Unlock()
	return o.e.waitForBatch(ctx, last)
}

// do runs fn on the GL thread after the jobs that use the object.
func (o *object) do(ctx context.Context, fn func(gl *glctx.GL) error) error {
	if err := o.Wait(ctx); err != nil {
		return err
	}
	return o.e.context.Do(func(gl *glctx.GL) error {
		defer o.e.ran()
		gl.MemoryBarrier(glctx.BarrierUpdate | glctx.BarrierTextureUpdate)
		return errors.Join(fn(gl), gl.Err())
	})
}
