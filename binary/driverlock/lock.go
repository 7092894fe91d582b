package driverlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ErrInUse is returned when others hold the folder in a way that ours does not
// go with.
var ErrInUse = errors.New("driver cache is in use by another process, or by this one")

// mergeWait is how long Share waits for a merge, which takes milliseconds for
// hundreds of programs. Somebody who starts does not wait for longer. A test does.
var mergeWait = 2 * time.Second

const mergePoll = 2 * time.Millisecond

// Lock is a hold on a driver's folder. Its methods may be called from any
// goroutine. Two locks of one process are as strange to each other as those of
// two processes.
type Lock struct {
	folder    string
	exclusive bool
	file      *os.File
	release   func() error
}

// Share says that this process is about to load a driver that uses the folder,
// and waits up to two seconds for a merge that is under way. It returns
// ErrInUse, wrapped, when the merge takes longer. An error is no reason not to
// start: a merge that goes on meanwhile costs what this process adds to the
// driver's cache, and nothing else. Such an error is usual where the directory
// cannot be written, and there nobody merges either.
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

// TryExclusive takes the folder for rewriting. It does not wait: it returns
// ErrInUse, wrapped, while anybody holds the folder.
func TryExclusive(folder string) (*Lock, error) { return open(folder, true) }

// Folder is the driver's folder that is held.
func (l *Lock) Folder() string { return l.folder }

// Exclusive says whether nobody else holds the folder.
func (l *Lock) Exclusive() bool { return l.exclusive }

// Release gives the folder up. Further calls do nothing.
func (l *Lock) Release() error { return l.release() }

// PassOn keeps the hold for the program that takes this process's place by
// exec, and for the processes that it starts: the folder is held until the last
// of them has ended. Processes that this one starts meanwhile have it as well.
// Where the system cannot do that, errors.ErrUnsupported is returned.
func (l *Lock) PassOn() error {
	if err := passOn(l.file); err != nil {
		return fmt.Errorf("driverlock: pass %s on: %w", l.folder, err)
	}
	return nil
}

// open takes the lock file of folder. The file is never deleted: who held a
// deleted file would hold nothing.
func open(folder string, exclusive bool) (*Lock, error) {
	folder = filepath.Clean(folder)
	path := folder + ".lock"
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("driverlock: %w", err)
	}
	if err := lock(f, exclusive); err != nil {
		return nil, errors.Join(fmt.Errorf("driverlock: %s: %w", folder, err), f.Close())
	}
	return &Lock{folder, exclusive, f, sync.OnceValue(f.Close)}, nil
}
