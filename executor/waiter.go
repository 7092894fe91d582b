package executor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// waiter is one goroutine that sleeps until somebody wakes it. Who puts it into
// a list, and who takes it out, holds the lock of that list.
type waiter struct {
	token chan struct{}
	timer *time.Timer
}

var waiters = sync.Pool{New: func() any {
	w := &waiter{token: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	w.timer.Stop()
	return w
}}

// waiterList is who waits for one thing.
type waiterList []*waiter

func (l *waiterList) add() *waiter {
	w := waiters.Get().(*waiter)
	*l = append(*l, w)
	return w
}

// wake wakes everybody.
func (l *waiterList) wake() {
	for i, w := range *l {
		w.token <- struct{}{}
		(*l)[i] = nil
	}
	*l = (*l)[:0]
}

// errImpatient is returned by sleep when it has taken too long.
var errImpatient = errors.New("executor: waited too long")

// forever is the patience of those who have no alternative.
const forever time.Duration = 0

// sleep returns nil when w was woken, ctx.Err(), or errImpatient. mu guards l.
// work is what Context.Pending says.
func (e *Executor) sleep(ctx context.Context, w *waiter, l *waiterList, patience time.Duration, work <-chan struct{}) error {
	defer waiters.Put(w)
	if patience != forever {
		w.timer.Reset(patience)
		defer w.timer.Stop()
	}
	err := e.awake(ctx, w, work)
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
		<-w.token // whoever took it out has sent, or is about to
		return nil
	}
	return err
}

// awake returns why w does not sleep any more: nil when it was woken.
func (e *Executor) awake(ctx context.Context, w *waiter, work <-chan struct{}) error {
	for {
		select {
		case <-w.token:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-w.timer.C:
			return errImpatient
		case <-work:
			e.context.Poll()
		}
	}
}
