package executor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// waiter is one goroutine that sleeps until its list is woken. The lock of the list
// is held when a waiter is added or removed.
type waiter struct {
	token chan struct{}
	timer *time.Timer
}

var waiters = sync.Pool{New: func() any {
	w := &waiter{token: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}}

// waiterList is the goroutines that wait for one event.
type waiterList []*waiter

// addWaiter appends a waiter for the calling goroutine.
func (l *waiterList) addWaiter() *waiter {
	w := waiters.Get().(*waiter)
	*l = append(*l, w)
	return w
}

// wake wakes all waiters and empties the list.
func (l *waiterList) wake() {
	for i, w := range *l {
		w.token <- struct{}{}
		(*l)[i] = nil
	}
	*l = (*l)[:0]
}

// errWaitTimeout is returned by sleep when the timeout has passed.
var errWaitTimeout = errors.New("executor: wait timed out")

// noTimeout makes sleep wait without a limit.
const noTimeout time.Duration = 0

// sleep waits until w is woken and returns nil, or returns ctx.Err() or
// errWaitTimeout. mu guards the list l of w. pending is the result of
// Context.Pending.
func (e *Executor) sleep(ctx context.Context, w *waiter, l *waiterList, timeout time.Duration, pending <-chan struct{}) error {
	defer waiters.Put(w)
	if timeout != noTimeout {
		w.timer.Reset(timeout)
		defer w.timer.Stop()
	}
	err := e.sleepUntilWoken(ctx, w, pending)
	if err == nil {
		return nil
	}
	e.mu.Lock()
	i := slices.Index(*l, w)
	if i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	e.mu.Unlock()
	if i < 0 {
		<-w.token // wake has removed w, and has sent the token or is about to
		return nil
	}
	return err
}

func (e *Executor) sleepUntilWoken(ctx context.Context, w *waiter, pending <-chan struct{}) error {
	for {
		select {
		case <-w.token:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-w.timer.C:
			return errWaitTimeout
		case <-pending:
			e.context.Poll()
		}
	}
}
