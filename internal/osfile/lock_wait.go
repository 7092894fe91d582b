package osfile

import (
	"context"
	"errors"
	"os"
	"time"
)

// Release unlocks f and closes it. Closing it is not enough: a child that this process starts has
// the open file, and so the lock, until its exec.
func Release(f *os.File) error {
	Unlock(f)
	return f.Close()
}

// LockWithin is TryLock that tries again after each poll, until ctx ends: then it returns
// the cause of its end.
func LockWithin(ctx context.Context, f *os.File, exclusive bool, poll time.Duration) error {
	for {
		err := TryLock(f, exclusive)
		if !errors.Is(err, ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}
