//go:build linux

package placement

import (
	"net"
	"sync"
)

// queue passes connections from one goroutine to another. It takes any number: putting never
// waits, so that no client holds up the answers that other sessions wait for.
type queue[T any] struct {
	mu struct {
		sync.Mutex
		waiting []queued[T]
		discard func(T) // not nil: the queue is closed
	}
	changed sync.Cond
}

type queued[T any] struct {
	value T
	err   error
}

func newQueue[T any]() *queue[T] {
	q := &queue[T]{}
	q.changed.L = &q.mu
	return q
}

// put adds a connection, or an error of one.
func (q *queue[T]) put(value T, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.discard == nil {
		q.mu.waiting = append(q.mu.waiting, queued[T]{value, err})
		q.changed.Signal()
	} else if err == nil {
		q.mu.discard(value)
	}
}

// take waits for a connection. After close it returns net.ErrClosed.
func (q *queue[T]) take() (value T, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.mu.waiting) == 0 && q.mu.discard == nil {
		q.changed.Wait()
	}
	if len(q.mu.waiting) == 0 {
		return value, net.ErrClosed
	}
	first := q.mu.waiting[0]
	q.mu.waiting = q.mu.waiting[1:]
	return first.value, first.err
}

// close ends take, and discards connections that were not taken, now and later.
func (q *queue[T]) close(discard func(T)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.discard != nil {
		return
	}
	q.mu.discard = discard
	for _, each := range q.mu.waiting {
		if each.err == nil {
			discard(each.value)
		}
	}
	q.mu.waiting = nil
	q.changed.Broadcast()
}
