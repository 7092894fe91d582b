package drivercache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// ErrInUse is returned while others hold the folder with a lock that excludes ours.
var ErrInUse = errors.New("driver cache is in use by another process, or by this one")

// mergeWait is how long Share waits for a merge, which takes milliseconds for
// hundreds of programs. A start does not wait for longer. A test does.
var mergeWait = 2 * time.Second

const mergePoll = 2 * time.Millisecond

// Lock is a lock on a driver's folder, shared or exclusive. Its methods may be called
// from any goroutine. Two locks of one process exclude each other as those of two
// processes do.
type Lock struct {
	folder    string
	exclusive bool
	file      *os.File
	release   func() error
}

// Share takes a shared lock, for a process that is about to load a driver that uses
// the folder. It waits up to two seconds for a merge that is under way and returns
// ErrInUse, wrapped, when the merge takes longer. An error is no reason not to start:
// a merge that runs meanwhile costs what this process adds to the driver's cache, and
// nothing else. It is usual where the directory is read-only, where no process merges.
func Share(folder string) (*Lock, error) {
	deadline := time.Now().Add(mergeWait)
	for {
		l, err := open(folder, false)
		if !errors.Is(err, ErrInUse) || time.Now().After(deadline) {
			return l, err
		}
		time.Sleep(mergePoll)
	}
}

// TryExclusive takes an exclusive lock, for rewriting the folder. It does not wait: it
// returns ErrInUse, wrapped, while the folder is held.
func TryExclusive(folder string) (*Lock, error) { return open(folder, true) }

// Folder returns the driver's folder that is held.
func (l *Lock) Folder() string { return l.folder }

// Exclusive reports whether the lock excludes all others.
func (l *Lock) Exclusive() bool { return l.exclusive }

// Release unlocks the folder. Further calls do nothing.
func (l *Lock) Release() error { return l.release() }

// HoldAcrossExec keeps the lock for the program that takes this process's place by
// exec, and for the processes that it starts: the folder is held until the last of
// them has ended. Processes that this one starts meanwhile inherit it as well. It
// returns errors.ErrUnsupported, wrapped, where the system cannot do that.
func (l *Lock) HoldAcrossExec() error {
	if err := osfile.KeepAcrossExec(l.file); err != nil {
		return fmt.Errorf("drivercache: hold %s across exec: %w", l.folder, err)
	}
	return nil
}

// open locks the lock file of folder. The file is never deleted: a lock on a deleted
// file excludes no later one.
func open(folder string, exclusive bool) (*Lock, error) {
	folder = filepath.Clean(folder)
	path := folder + ".lock"
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		// Opening a FIFO or a device might never return.
		return nil, fmt.Errorf("drivercache: %s is not a regular file; \"shadercache verify --repair\" removes it", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("drivercache: %w", err)
	}
	err = osfile.TryLock(f, exclusive)
	if errors.Is(err, osfile.ErrLocked) {
		err = ErrInUse
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("drivercache: %s: %w", folder, err), f.Close())
	}
	return &Lock{folder, exclusive, f, sync.OnceValue(f.Close)}, nil
}
