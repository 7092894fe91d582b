//go:build linux

package resident

import (
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/glctx"
)

// request is a function to be called at a boundary, where no tick runs.
type request struct {
	do       func(sc *scheduler) error // called by the scheduler
	priority int                       // of a preemption
	early    bool                      // ticks end early for it
	preempt  bool                      // it may take long: one at a time, with a burst in between
	done     chan error
}

// atBoundary has the scheduler call q.do, and waits for it. It returns the error of a
// session that has failed: its state is not to be trusted.
func (s *Session) atBoundary(ctx context.Context, q *request) error {
	s.context.Pending() // panics on the GL thread, before the request is added
	q.done = make(chan error, 1)
	if err := s.run.addRequest(q); err != nil {
		return err
	}
	if q.early {
		s.mail.requestStop()
	}
	s.interrupt()
	return s.polling(func() error {
		select {
		case err := <-q.done:
			return err
		case <-ctx.Done():
			if s.run.withdrawRequest(q) {
				return ctx.Err()
			}
			return <-q.done // it has begun
		}
	})
}

// onGL is atBoundary for a function that uses GL.
func (s *Session) onGL(ctx context.Context, fn func(gl *glctx.GL, m *memory) error) error {
	return s.atBoundary(ctx, &request{do: func(sc *scheduler) error {
		return sc.context.Do(func(gl *glctx.GL) error { return fn(gl, &sc.gl) })
	}})
}

func (r *runState) addRequest(q *request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failure != nil:
		return r.failure
	case r.closed:
		return errClosed
	}
	r.requests = append(r.requests, q)
	return nil
}

// withdrawRequest removes a request and reports whether it had not begun.
func (r *runState) withdrawRequest(q *request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.requests, q)
	if i < 0 {
		return false
	}
	r.requests = slices.Delete(r.requests, i, i+1)
	return true
}

// ageing is the priority that a request gains with each preemption served before it.
const ageing = 10

// nextRequest removes the next request: reads and writes of the state first, then the
// preemption of the highest priority, unless preempt is false.
func (r *runState) nextRequest(preempt bool) *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	best := -1
	for i, q := range r.requests {
		if q.preempt && !preempt {
			continue
		}
		if best < 0 || q.precedes(r.requests[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	q := r.requests[best]
	r.requests = slices.Delete(r.requests, best, best+1)
	if q.preempt {
		for _, other := range r.requests {
			other.priority += ageing
		}
	}
	return q
}

// precedes reports whether q is served before other, which came first.
func (q *request) precedes(other *request) bool {
	if q.preempt != other.preempt {
		return other.preempt
	}
	return q.priority > other.priority
}

// endsTick reports whether a tick should not run to its end, because the run is
// stopped or a request comes next. Persistent ticks do not end by themselves. preempt
// reports whether a preemption may come next.
func (r *runState) endsTick(persistent, preempt bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping || r.closed || slices.ContainsFunc(r.requests, func(q *request) bool {
		return (q.early || persistent) && (!q.preempt || preempt)
	})
}

// WithBuffers calls fn on the GL thread while no tick runs, with the buffer of each
// state by the name of its block. The GPU executes the commands of fn in order with the
// ticks. A kernel that fn dispatches needs its own memory barrier.
func (s *Session) WithBuffers(ctx context.Context, fn func(gl *glctx.GL, buffers map[string]glctx.Buffer) error) error {
	return s.onGL(ctx, func(gl *glctx.GL, m *memory) error {
		buffers := make(map[string]glctx.Buffer, len(m.states))
		for _, v := range m.states {
			buffers[v.Block] = v.buffer
		}
		return fn(gl, buffers)
	})
}

// Read copies a part of a state while no tick runs: all groups have done the same steps
// then, unless a signal is pending.
func (s *Session) Read(ctx context.Context, block string, offset int, dst []byte) error {
	return s.onRange(ctx, block, offset, len(dst), func(gl *glctx.GL, b glctx.Buffer) { gl.Download(b, offset, dst) })
}

// Write changes a part of a state while no tick runs.
func (s *Session) Write(ctx context.Context, block string, offset int, data []byte) error {
	return s.onRange(ctx, block, offset, len(data), func(gl *glctx.GL, b glctx.Buffer) { gl.Upload(b, offset, data) })
}

// onRange calls fn with the buffer of a block that has n bytes from offset on.
func (s *Session) onRange(ctx context.Context, block string, offset, n int, fn func(gl *glctx.GL, b glctx.Buffer)) error {
	return s.onGL(ctx, func(gl *glctx.GL, m *memory) error {
		v := m.findState(block)
		if v == nil {
			return fmt.Errorf("resident: kernel %s has no state %s", s.config.kernel.Source.Name(), block)
		}
		if offset < 0 || n > v.buffer.Size-offset {
			return fmt.Errorf("resident: bytes %d to %d of state %s, which has %d", offset, offset+n, block, v.buffer.Size)
		}
		fn(gl, v.buffer)
		return gl.Err()
	})
}
