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

// Programs returns resident programs. *cache.Cache implements it.
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
	slots   []*slot

	// Stages: copies of large batches beside kernels.
	staged     bool
	maySpin    bool // Wait may spin: it takes no CPU time from the GPU
	usesMapped bool // kernels of small jobs may use mapped memory
	programs   Programs
	copierOnce sync.Once
	copier     *cache.Handle // the copying kernel, from the first large job on
	hasCopier  atomic.Bool   // large batches run in stages

	hostAccess     hostAccess
	pump           func(*glctx.GL) // runPump, made once
	pumpPosted     atomic.Bool     // the pump is posted to the GL thread
	startRequested atomic.Bool     // the pump starts stages, besides polling
	pipeline       pipeline        // used by the GL thread only

	uploads, downloads pieceStaging
	counts             counts

	submitWakesPump atomic.Bool // the GPU can take the next job at once

	// See batch.spin.
	lastStage   atomic.Int64 // nanoseconds that the last stage took
	spinning    atomic.Bool  // a goroutine in Wait spins
	spinBackoff atomic.Int32 // number of calls of Wait that do not spin
	spinMisses  atomic.Int32 // spins in a row without success

	mu struct {
		sync.Mutex
		slot      *slot  // accepts jobs now; nil: none
		open      *batch // accepts jobs now; nil: none
		queue     []*batch
		live      []*batch // not completed: on the GPU, then queue, then open
		free      []*slot
		spare     []*batch
		space     waiterList // Submit calls that wait for room
		sequence  uint64     // of the newest batch
		completed uint64     // sequence of the newest completed batch
		failure   error      // set once the context is gone
		wakePump  bool       // unlock wakes the pump

		short  map[work]bool // whether jobs took less than shortTime
		slowed uint64        // how often such jobs took longer then
	}

	shutDownOnce func() error
	stop         chan struct{} // closed by Close
	background   sync.WaitGroup
}

// stagedDepth is the number of slots from which copies run beside kernels: three
// batches are on the GPU, and one is with the host. With fewer, the stages wait for
// each other, which measured slower than one part after the other.
const stagedDepth = 4

// New makes an executor and all memory of its slots. programs, a cache over
// ctx, provides the copying kernel where the executor uses one. It returns
// shader.ErrOutOfMemory, wrapped, where there is no room, and glctx.ErrStaleUniforms where
// results could be wrong.
func New(ctx *glctx.Context, programs Programs, o Options) (*Executor, error) {
	if ctx == nil || programs == nil {
		return nil, errors.New("executor: New needs a context and a cache")
	}
	if err := errors.Join(ctx.Require45("an executor"), ctx.CheckUniforms()); err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	e := &Executor{context: ctx, info: ctx.Info(), options: o.withDefaults(), programs: programs, stop: make(chan struct{})}
	e.pump, e.mu.short, e.shutDownOnce = e.runPump, map[work]bool{}, sync.OnceValue(e.shutDown)
	e.uploads, e.downloads = newPieceStaging(), newPieceStaging()
	e.align = max(wordBytes, e.info.StorageAlignment, e.info.UniformAlignment)
	e.options.SlotBytes = padded(e.options.SlotBytes, e.align)
	e.maySpin = !e.info.Software() || o.test.spin
	e.usesMapped = !e.info.Software() || o.test.inPlace
	e.staged = e.options.Depth >= stagedDepth && !e.info.Software() || o.test.staged
	if err := e.prepare(); err != nil {
		e.release()
		return nil, fmt.Errorf("executor: %w", err)
	}
	e.background.Go(e.failWithContext)
	e.submitWakesPump.Store(true)
	return e, nil
}

// prepare makes the parts of an executor. release frees those that were made.
func (e *Executor) prepare() error {
	return e.context.Do(func(gl *glctx.GL) error {
		for range e.options.Depth {
			s, err := newSlot(gl, e.options.SlotBytes)
			if err != nil {
				return fmt.Errorf("make a slot of %d bytes each way: %w", e.options.SlotBytes, err)
			}
			e.slots = append(e.slots, s)
			e.mu.free = append(e.mu.free, s)
		}
		return errors.Join(e.pipeline.prepare(gl, e), gl.Err())
	})
}

// release frees what prepare made, after its last use.
func (e *Executor) release() {
	// Do fails only where the context is gone, and the memory with it.
	_ = e.context.Do(func(gl *glctx.GL) error {
		for _, s := range e.slots {
			s.delete(gl)
		}
		e.pipeline.free(gl)
		e.uploads.free(gl)
		e.downloads.free(gl)
		e.pipeline.recorder.free(gl)
		return nil
	})
	if t := e.pipeline.timer; t != nil {
		t.Close()
	}
}

// Context returns the GL context that the executor runs on.
func (e *Executor) Context() *glctx.Context { return e.context }

// Close waits until the GPU has finished everything that was submitted, at
// most for Options.Timeout without progress, and frees the slots. Results that
// were not waited for are lost. It waits for running Fill and Read functions, which
// must not call it. Memory outlives Close and is still to be released. Close is
// idempotent.
func (e *Executor) Close() error {
	e.context.Pending() // before anything is closed: it panics inside a callback
	return e.shutDownOnce()
}

func (e *Executor) shutDown() error {
	e.hostAccess.close()
	e.mu.Lock()
	e.mu.space.wake()
	e.mu.Unlock()
	e.context.PollWhile(e.hostAccess.wait)
	err := e.Drain(context.Background())
	close(e.stop)
	e.release()
	e.context.PollWhile(e.background.Wait)
	if e.copier != nil {
		e.copier.Release()
	}
	e.fail(errClosed)
	if errors.Is(err, shader.ErrClosed) {
		return nil // the context was closed first; there was nothing to wait for
	}
	return err
}

// Drain waits until the GPU has finished everything submitted so far, whether or
// not the results are waited for. It returns ErrTimeout when the GPU completes
// nothing for Options.Timeout, shader.ErrContextLost, or ctx.Err().
func (e *Executor) Drain(ctx context.Context) error {
	e.mu.Lock()
	newest := e.mu.sequence
	e.mu.Unlock()
	return e.waitForBatch(ctx, newest)
}

// waitForBatch waits until the batch with the given sequence number is completed.
func (e *Executor) waitForBatch(ctx context.Context, sequence uint64) error {
	pending := e.context.Pending()
	for {
		e.mu.Lock()
		b := e.liveBatch(sequence)
		if err := e.batchError(b, sequence); b == nil || err != nil {
			e.mu.Unlock()
			return err
		}
		w := b.waiters.addWaiter()
		e.mu.Unlock()
		if err := e.sleep(ctx, w, &b.waiters, noTimeout, pending); err != nil {
			return err
		}
	}
}

// liveBatch returns the batch with a sequence number, nil if it is completed. mu is
// held.
func (e *Executor) liveBatch(sequence uint64) *batch {
	if len(e.mu.live) == 0 || sequence < e.mu.live[0].sequence {
		return nil
	}
	return e.mu.live[sequence-e.mu.live[0].sequence]
}

// batchError returns the error of b, which liveBatch returned for sequence, as far
// as it is final. mu is held.
func (e *Executor) batchError(b *batch, sequence uint64) error {
	switch {
	case b == nil && sequence > e.mu.completed:
		return e.mu.failure
	case b != nil && b.resolved.Load():
		return b.err
	}
	return nil
}

// failWithContext fails all pending jobs when the context ends before the executor.
func (e *Executor) failWithContext() {
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

// fail resolves all batches with err, the context being gone. Later calls of Submit
// return the err of the first fail.
func (e *Executor) fail(err error) {
	e.mu.Lock()
	defer e.unlock()
	if e.mu.failure == nil {
		e.mu.failure = err
	}
	for _, b := range e.mu.live {
		b.resolve(err)
		b.releaseKept()
	}
	e.mu.live, e.mu.queue, e.mu.open = nil, nil, nil
	e.mu.space.wake()
}

// unlock releases mu and wakes the pump if mu.wakePump is set. The pump is posted
// without the lock, because Post of an adopted context calls its owner's code.
func (e *Executor) unlock() {
	wake := e.mu.wakePump
	e.mu.wakePump = false
	e.mu.Unlock()
	if wake {
		e.wakePump()
	}
}
