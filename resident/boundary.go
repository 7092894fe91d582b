//go:build linux

package resident

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// ask is something to be done at a boundary, where no tick is under way.
type ask struct {
	do      func() error
	urgency int  // of a preemption
	hurry   bool // ticks end early for it
	preempt bool // it takes as long as it likes: one at a time, and a burst in between
	done    chan error
}

// atBoundary has the driver run a.do, and waits for it.
func (s *Session) atBoundary(ctx context.Context, a *ask) error {
	s.context.Pending() // before anything is asked: it panics where nobody may wait
	a.done = make(chan error, 1)
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.mu.asks = append(s.mu.asks, a)
	s.mu.Unlock()
	if a.hurry {
		s.hurry()
	}
	s.alert()
	return serving(s.context, func() error {
		select {
		case err := <-a.done:
			return err
		case <-ctx.Done():
			if s.withdraw(a) {
				return ctx.Err()
			}
			return <-a.done // it has begun
		}
	})
}

// withdraw takes an ask back, unless it has begun.
func (s *Session) withdraw(a *ask) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.mu.asks {
		if other == a {
			s.mu.asks = append(s.mu.asks[:i], s.mu.asks[i+1:]...)
			return true
		}
	}
	return false
}

// serve does what was asked for at this boundary: all looks at the state, and
// at most one preemption.
func (s *Session) serve() {
	for {
		a := s.nextAsk()
		if a == nil {
			break
		}
		if !a.preempt && s.align() {
			s.settle()
		}
		a.done <- a.do()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.asks) > 0 {
		s.attention.Store(true) // the next burst is to be one tick
	}
}

// ageing is what an ask gains in urgency when another one goes before it.
const ageing = 10

// nextAsk takes the next ask out: looks first, then the most urgent preemption
// if a burst ran since the last one, or nothing else is to run.
func (s *Session) nextAsk() *ask {
	work := s.hasWork()
	s.mu.Lock()
	defer s.mu.Unlock()
	best := -1
	for i, a := range s.mu.asks {
		if a.preempt && work && !s.driver.ranSince {
			continue
		}
		if best < 0 || !a.preempt && s.mu.asks[best].preempt || a.preempt == s.mu.asks[best].preempt && a.urgency > s.mu.asks[best].urgency {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	a := s.mu.asks[best]
	s.mu.asks = append(s.mu.asks[:best], s.mu.asks[best+1:]...)
	if a.preempt {
		s.driver.ranSince = false
		for _, other := range s.mu.asks {
			other.urgency += ageing
		}
	}
	return a
}

// WithBuffers calls fn on the GL thread while no tick is under way, with the buffer of
// each state by its block's name. What fn tells the GPU is in order with the
// ticks; where it writes to a buffer by a kernel, the memory barrier is fn's.
func (s *Session) WithBuffers(ctx context.Context, fn func(gl *glctx.GL, buffers map[string]glctx.Buffer) error) error {
	return s.atBoundary(ctx, &ask{do: func() error {
		return s.context.Do(func(gl *glctx.GL) error {
			buffers := make(map[string]glctx.Buffer, len(s.gl.states))
			for _, v := range s.gl.states {
				buffers[v.Block] = v.buffer
			}
			return fn(gl, buffers)
		})
	}})
}

// Read copies a part of a state while no tick is under way: all groups have
// done the same steps then, unless a signal waits to be served.
func (s *Session) Read(ctx context.Context, block string, offset int, dst []byte) error {
	return s.atState(ctx, block, offset, len(dst), func(gl *glctx.GL, b glctx.Buffer) { gl.Download(b, offset, dst) })
}

// Write changes a part of a state while no tick is under way.
func (s *Session) Write(ctx context.Context, block string, offset int, data []byte) error {
	return s.atState(ctx, block, offset, len(data), func(gl *glctx.GL, b glctx.Buffer) { gl.Upload(b, offset, data) })
}

func (s *Session) atState(ctx context.Context, block string, offset, n int, fn func(gl *glctx.GL, b glctx.Buffer)) error {
	return s.atBoundary(ctx, &ask{do: func() error {
		return s.context.Do(func(gl *glctx.GL) error {
			v := s.gl.find(block)
			if v == nil {
				return fmt.Errorf("resident: kernel %s has no state %s", s.program.Name(), block)
			}
			if offset < 0 || n > v.buffer.Size-offset {
				return fmt.Errorf("resident: bytes %d to %d of state %s, which has %d", offset, offset+n, block, v.buffer.Size)
			}
			fn(gl, v.buffer)
			return gl.Err()
		})
	}})
}
