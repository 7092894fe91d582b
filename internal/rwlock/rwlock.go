// Package rwlock has a lock for one writer or many readers, who stop waiting when a context ends.
package rwlock

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// whole is what a writer acquires; a reader has 1.
const whole = 1 << 30

// RWMutex is the lock. Its methods may be called from any goroutine; those that wait get the lock in
// the order in which they came.
type RWMutex struct {
	free *semaphore.Weighted
	wait func(func())
}

// New returns a lock that is free. wait calls what waits, as on a thread that others need
// meanwhile.
func New(wait func(func())) *RWMutex { return &RWMutex{semaphore.NewWeighted(whole), wait} }

// Lock locks for a writer, unless ctx ends before: then it returns its error.
func (l *RWMutex) Lock(ctx context.Context) error { return l.acquire(ctx, whole) }

// RLock locks for a reader, likewise.
func (l *RWMutex) RLock(ctx context.Context) error { return l.acquire(ctx, 1) }

// TryRLock locks for a reader if it need not wait, and reports whether it did.
func (l *RWMutex) TryRLock() bool { return l.free.TryAcquire(1) }

func (l *RWMutex) acquire(ctx context.Context, n int64) (err error) {
	if !l.free.TryAcquire(n) {
		l.wait(func() { err = l.free.Acquire(ctx, n) })
	}
	return err
}

// Unlock ends Lock.
func (l *RWMutex) Unlock() { l.free.Release(whole) }

// RUnlock ends RLock and TryRLock.
func (l *RWMutex) RUnlock() { l.free.Release(1) }
