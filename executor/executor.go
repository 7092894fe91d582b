//go:build linux

package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Programs gives out resident programs. *cache.Cache is the one to use.
type Programs interface {
	Get(ctx context.Context, source *shader.Source) (*cache.Handle, error)
}

// Executor runs jobs on one GL context: see the package documentation. Make it
// with New, and Close it before the context and the cache.
type Executor struct {
	context *glctx.Context
	info    glctx.Info
	options Options
	align   int // of every input, output and parameter block in a slot
	staged  bool
	copier  *cache.Handle // the copying kernel; nil without stages
	slots   []*slot

	gate   *gate
	alarm  *alarm
	pump   func(*glctx.GL) // runPump, made once
	posted atomic.Bool     // the pump is on its way to the GL thread
	news   atomic.Bool     // there may be something to start
	eager  atomic.Bool     // the GPU will take the next job at once: Submit calls the pump
	brisk  atomic.Bool     // the last stage was so short that Wait looks before it sleeps
	gpu    pipeline        // for the GL thread only
	counts counts

	lingering   atomic.Bool  // somebody in Wait looks
	discouraged atomic.Int32 // so many calls of Wait will not

	mu struct {
		sync.Mutex
		slot     *slot  // takes jobs now; nil: none
		open     *batch // takes jobs now; nil: none
		queue    []*batch
		live     []*batch // all that are not reached: on the GPU, then queue, then open
		free     []*slot
		spare    []*batch
		space    waiterList // Submit calls that wait for room
		sequence uint64     // of the newest batch
		reached  uint64     // of the newest batch that is reached
		failure  error      // set once the context is gone
		call     bool       // call the pump after unlocking
	}

	closeOnce  sync.Once
	closeError error
	stop       chan struct{} // closed by Close
	background sync.WaitGroup
}

// stagedDepth is how many slots it takes to copy beside kernels: three batches
// are on the GPU, and one is with the host. With fewer, the stages wait for each
// other, which measured slower than one part after the other.
const stagedDepth = 4

// New makes an executor and all memory of its slots. programs, a cache over
// ctx, gives it the copying kernel where it uses one. It returns
// shader.ErrOutOfMemory, wrapped, where there is no room.
func New(ctx *glctx.Context, programs Programs, o Options) (*Executor, error) {
	if ctx == nil || programs == nil {
		return nil, errors.New("executor: New needs a context and a cache")
	}
	e := &Executor{context: ctx, info: ctx.Info(), options: o.withDefaults(), gate: newGate(), stop: make(chan struct{})}
	e.pump = e.runPump
	e.align = max(wordBytes, e.info.StorageAlignment, e.info.UniformAlignment)
	e.options.SlotBytes = e.padded(e.options.SlotBytes)
	e.staged = e.options.Depth >= stagedDepth && !e.info.Software() || o.trial.pipeline
	if err := e.prepare(programs); err != nil {
		e.release()
		return nil, fmt.Errorf("executor: %w", err)
	}
	e.background.Go(func() { e.alarm.run(e.look) })
	e.background.Go(e.watch)
	e.eager.Store(true)
	return e, nil
}

// prepare makes what an executor consists of. release frees what was made.
func (e *Executor) prepare(programs Programs) (err error) {
	if e.alarm, err = newAlarm(); err != nil {
		return err
	}
	if e.staged {
		if e.copier, err = programs.Get(context.Background(), copySource()); err != nil {
			return err
		}
	}
	return e.context.Do(func(gl *glctx.GL) error {
		for range e.options.Depth {
			s, err := newSlot(gl, e.options.SlotBytes)
			if err != nil {
				return fmt.Errorf("make a slot of %d bytes each way: %w", e.options.SlotBytes, err)
			}
			e.slots = append(e.slots, s)
			e.mu.free = append(e.mu.free, s)
		}
		e.gpu.prepare(gl, e)
		return gl.Err()
	})
}

// release frees what prepare made. Nothing uses it any more.
func (e *Executor) release() {
	// It fails only where the context is gone, and the memory with it.
	_ = e.context.Do(func(gl *glctx.GL) error {
		for _, s := range e.slots {
			s.delete(gl)
		}
		e.gpu.free(gl)
		return nil
	})
	if e.copier != nil {
		e.copier.Release()
	}
	if e.alarm != nil {
		e.alarm.close()
	}
}

// Close waits until the GPU has finished with everything that was submitted, at
// most for Options.Timeout without progress, and frees the slots. Results that
// nobody has waited for are gone. It waits for Fill and Read functions that run,
// and must not be called by one. Memory outlives Close and is still to be
// released. Close is idempotent.
func (e *Executor) Close() error {
	e.context.Pending() // before anything is closed: it panics where nobody may wait
	e.closeOnce.Do(func() { e.closeError = e.shutDown() })
	return e.closeError
}

func (e *Executor) shutDown() error {
	e.gate.close()
	e.mu.Lock()
	e.mu.space.wake()
	e.mu.Unlock()
	e.context.PollWhile(e.gate.wait)
	err := e.Drain(context.Background())
	close(e.stop)
	e.release()
	e.background.Wait()
	e.fail(ErrClosed)
	if errors.Is(err, shader.ErrClosed) {
		return nil // the context was closed first; there was nothing to wait for
	}
	return err
}

// Drain waits until the GPU has finished with everything submitted so far,
// whether or not somebody waits for the results. It returns ErrTimeout when the
// GPU completes nothing for too long, shader.ErrContextLost, or ctx.Err().
func (e *Executor) Drain(ctx context.Context) error {
	e.mu.Lock()
	newest := e.mu.sequence
	e.mu.Unlock()
	return e.await(ctx, newest)
}

// await waits until the batch of the given number is reached.
func (e *Executor) await(ctx context.Context, sequence uint64) error {
	work := e.context.Pending()
	for {
		e.mu.Lock()
		b := e.unreached(sequence)
		if err := e.awaitError(b, sequence); b == nil || err != nil {
			e.mu.Unlock()
			return err
		}
		w := b.waiters.add()
		e.mu.Unlock()
		if err := e.sleep(ctx, w, &b.waiters, forever, work); err != nil {
			return err
		}
	}
}

// unreached is the batch of a number if it is not reached. mu is held.
func (e *Executor) unreached(sequence uint64) *batch {
	if len(e.mu.live) == 0 || sequence < e.mu.live[0].sequence {
		return nil
	}
	return e.mu.live[sequence-e.mu.live[0].sequence]
}

func (e *Executor) awaitError(b *batch, sequence uint64) error {
	switch {
	case b == nil && sequence > e.mu.reached:
		return e.mu.failure
	case b != nil && b.settled.Load():
		return b.err
	}
	return nil
}

// watch fails what is pending when the context ends under it.
func (e *Executor) watch() {
	select {
	case <-e.stop:
	case <-e.context.Done():
		err := shader.ErrClosed
		if e.context.Lost() {
			err = shader.ErrContextLost
		}
		e.fail(err)
	}
}

// fail settles everything for good: the context is gone.
func (e *Executor) fail(err error) {
	e.mu.Lock()
	defer e.unlock()
	if e.mu.failure == nil {
		e.mu.failure = err
	}
	for _, b := range e.mu.live {
		b.settle(err)
		b.drop()
	}
	e.mu.live, e.mu.queue, e.mu.open = nil, nil, nil
	e.mu.space.wake()
}

// unlock releases mu and calls the pump if somebody asked for it meanwhile:
// posting runs foreign code where the context was adopted.
func (e *Executor) unlock() {
	call := e.mu.call
	e.mu.call = false
	e.mu.Unlock()
	if call {
		e.call()
	}
}
