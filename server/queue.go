//go:build linux

package server

import (
	"slices"
	"sync"
)

// queue is the requests of a session that handle has not taken, in order: no more than
// wire.MaxTasks, since each takes its part of the backlog.
type queue struct {
	sync.Mutex
	some   *sync.Cond // signalled with each, and at the end
	tasks  []*task
	taken  int // 1 while the one that next has returned is performed
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.some = sync.NewCond(q)
	return q
}

func (q *queue) put(t *task) {
	q.Lock()
	defer q.Unlock()
	q.tasks = append(q.tasks, t)
	q.some.Signal()
}

func (q *queue) close() {
	q.Lock()
	defer q.Unlock()
	q.closed = true
	q.some.Signal()
}

// next ends the request that it returned before, and waits for the next one: nil once the queue is
// closed and empty.
func (q *queue) next() *task {
	q.Lock()
	defer q.Unlock()
	for q.taken = 0; len(q.tasks) == 0; q.some.Wait() {
		if q.closed {
			return nil
		}
	}
	t := q.tasks[0]
	q.tasks, q.taken = slices.Delete(q.tasks, 0, 1), 1
	return t
}

// remove takes a request out, and reports whether it was in the queue.
func (q *queue) remove(t *task) bool {
	q.Lock()
	defer q.Unlock()
	i := slices.Index(q.tasks, t)
	if i >= 0 {
		q.tasks = slices.Delete(q.tasks, i, i+1)
	}
	return i >= 0
}

// size is the number of requests that wait or are performed.
func (q *queue) size() int {
	q.Lock()
	defer q.Unlock()
	return len(q.tasks) + q.taken
}
