package drivercache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// ErrInUse is returned while another lock on the folder excludes the requested one.
var ErrInUse = errors.New("driver cache is in use by another process, or by this one")

// mergeWait is the time that Share waits for a merge, which takes milliseconds for
// hundreds of programs. It delays the start of a process.
const mergeWait = 2 * time.Second

const lockPoll = 2 * time.Millisecond

// Lock is a lock on a driver's folder, shared or exclusive. Its methods may be called
// from any goroutine. Locks exclude each other also within a process.
type Lock struct {
	folder  string
	file    *os.File
	release func() error
}

// Share takes a shared lock, before a process loads a driver that uses the folder. It
// waits up to two seconds for a running merge and returns ErrInUse, wrapped, when the
// merge takes longer. A process may start after an error: a merge that runs meanwhile
// loses only what this process adds to the driver's cache. In a read-only directory
// an error is usual, and no process merges there.
func Share(folder string) (*Lock, error) {
	return open(folder, false, mergeWait)
}

// TryExclusive takes an exclusive lock, to rewrite the folder. It does not wait: it
// returns ErrInUse, wrapped, while the folder is locked.
func TryExclusive(folder string) (*Lock, error) { return open(folder, true, 0) }

// Release unlocks the folder. Further calls do nothing.
func (l *Lock) Release() error { return l.release() }

// exclusively calls work while a shared lock is exclusive, and reports whether it could be
// made so. The lock may be gone afterwards: then a merge loses what this process adds.
func (l *Lock) exclusively(work func()) bool {
	// The same open file: it keeps this process's number.
	exclusive := osfile.TryLock(l.file, true) == nil
	if exclusive {
		work()
	}
	ctx, cancel := context.WithTimeout(context.Background(), mergeWait)
	defer cancel()
	_ = osfile.LockWithin(ctx, l.file, false, lockPoll)
	return exclusive
}

// open locks the lock file of folder. It waits, at most for a time, while another lock excludes
// this one. The file is never deleted: a lock on a deleted file would not exclude later ones.
func open(folder string, exclusive bool, wait time.Duration) (*Lock, error) {
	folder = filepath.Clean(folder)
	path := folder + ".lock"
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		// Opening a FIFO or a device might block.
		return nil, fmt.Errorf("drivercache: %s is not a regular file; \"shadercache verify --repair\" removes it", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		f, err = os.Open(path) // then a process has no number
	}
	if err != nil {
		return nil, fmt.Errorf("drivercache: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), wait, ErrInUse)
	defer cancel()
	if err = osfile.LockWithin(ctx, f, exclusive, lockPoll); err != nil {
		return nil, errors.Join(fmt.Errorf("drivercache: %s: %w", folder, err), f.Close())
	}
	return &Lock{folder, f, sync.OnceValue(func() error { return osfile.Release(f) })}, nil
}
