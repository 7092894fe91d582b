//go:build linux

package placement

import (
	"io"
	"net"
	"sync"
)

// queue passes connections from one goroutine to another. It takes any number: putting never
// waits, so that no client holds up the answers that other sessions wait for.
type queue[T io.Closer] struct {
	mu struct {
		sync.Mutex
		waiting []queued[T]
		closed  bool
	}
	changed sync.Cond
}

type queued[T io.Closer] struct {
	value T
	err   error
}

func newQueue[T io.Closer]() *queue[T] {
	q := &queue[T]{}
	q.changed.L = &q.mu
	return q
}

// put adds a connection, or an error of one.
func (q *queue[T]) put(value T, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.mu.closed {
		q.mu.waiting = append(q.mu.waiting, queued[T]{value, err})
		q.changed.Signal()
	} else if err == nil {
		value.Close()
	}
}

// take waits for a connection. After close it returns net.ErrClosed.
func (q *queue[T]) take() (value T, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.mu.waiting) == 0 && !q.mu.closed {
		q.changed.Wait()
	}
	if len(q.mu.waiting) == 0 {
		return value, net.ErrClosed
	}
	first := q.mu.waiting[0]
	q.mu.waiting = q.mu.waiting[1:]
	return first.value, first.err
}

// close ends take, and closes connections that were not taken, now and later.
func (q *queue[T]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.closed = true
	for _, each := range q.mu.waiting {
		if each.err == nil {
			each.value.Close()
		}
	}
	q.mu.waiting = nil
	q.changed.Broadcast()
}
