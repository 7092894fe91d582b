package drivercache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// Filling a driver's cache from another directory.
//
// No driver uses a cache that it cannot write. So what a read-only directory has for a
// driver, such as one of a container image, is copied into the managed directory, before
// the first program:
//
//	<dir>.filled       the directories that were copied, as they were: see fillState
//	<dir>.filling/     files on their way into dir; what is left there was interrupted
//	<dir>.filling.lock one process copies at a time, and others wait for it
//
// A file is renamed into place when it is whole, and none is replaced. What was copied is
// the managed directory's own from then on: a prune may delete it.
const (
	filledExt  = ".filled"
	fillingExt = ".filling"

	// fillWait is the time that Fill waits for another process that copies. It delays the
	// first program of a process, which would compile otherwise.
	fillWait = 10 * time.Second
)

// FillReport is the result of Fill.
type FillReport struct {
	Files   int   // copied
	Bytes   int64 // of them
	LeftOut int64 // bytes of files that were not copied for lack of space
}

// Fill copies what a driver can use from another directory of drivers' caches, which it
// only reads, into the directory that this process manages. The driver is named by its
// folder: see FolderOf. A directory that was copied before, and has not changed since,
// costs the reading of its folders' times. NVIDIA's driver uses what is there at the first
// program of the process: see FirstProgram.
//
// Copied are files of Mesa's with one entry each, and the slots of NVIDIA's driver, which
// are merged with those that are there. Files that belong to another user than this one
// or root, or that others can write to, are an error; the rest is copied. At most half of
// the volume's free space is used; what does not fit is left out for good.
//
// Fill does nothing where this process manages no directory, and while a cache that
// crashed a driver is kept aside: see SetAside.
func Fill(from, folder string) (FillReport, error) {
	state, managed := Managed()
	from = filepath.Clean(from)
	if !managed || folder == "" || state.IsIn(from) {
		return FillReport{}, nil
	}
	id, found := fillState(filepath.Join(from, folder))
	if !found || isFilled(state.Dir, folder, id) || !AsideSince(state.Dir).IsZero() {
		return FillReport{}, nil
	}
	r, err := fillOnce(from, state.Dir, folder, id)
	if err != nil {
		err = fmt.Errorf("drivercache: fill from %s: %w", from, err)
	}
	return r, err
}

// FolderOf returns the folder of a driver's cache below a directory of drivers' caches, by
// GL_VENDOR and GL_VERSION, and "" for a driver that this package does not know.
func FolderOf(vendor, version string) string { return driverOf(vendor, version).folder }

// fillOnce copies as the only process that does, unless another one did so just now.
func fillOnce(from, dir, folder, id string) (r FillReport, err error) {
	lock, err := open(dir+fillingExt, true, fillWait) // of the process that copies
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if isFilled(dir, folder, id) {
		return r, nil
	}
	f := filling{from: from, dir: dir, staging: dir + fillingExt, left: maxBytes, report: &r}
	if free, ok := osfile.FreeBytes(dir); ok {
		f.left = min(f.left, free/2)
	}
	if err := os.RemoveAll(f.staging); err != nil {
		return r, err
	}
	copyFolder := f.mesa
	if folder == nvidia.Folder {
		copyFolder = f.nvidia
	}
	err = errors.Join(copyFolder(), os.RemoveAll(f.staging))
	if err == nil {
		recording.Add(1)
		copied, _ := os.Open(filepath.Join(dir, folder))
		go func() {
			defer recording.Add(-1)
			recordFilled(dir, folder, id, copied)
		}()
	}
	return r, err
}

// recording counts the goroutines that record what was copied: the first program does not wait for them.
var recording atomic.Int32

// recordFilled records a copy that is on the disk: a power cut would leave empty files else that are
// never filled again. Where the process ends before, or the record fails, the next one looks at all
// files again. A folder that was deleted meanwhile is not recorded: copied is open, so that no other
// folder gets its number.
func recordFilled(dir, folder, id string, copied *os.File) {
	defer copied.Close()
	err := osfile.SyncVolume(dir)
	was, _ := copied.Stat()
	if now, _ := os.Lstat(filepath.Join(dir, folder)); err != nil || !os.SameFile(was, now) {
		return
	}
	lock, err := open(dir+fillingExt, true, fillWait)
	if err != nil {
		return
	}
	_ = errors.Join(addFilled(dir, folder, id), lock.Release())
}

// AwaitRecords waits until the disk has what Fill copied, which is recorded then, at most for a time.
// Where a process ends before, a later one looks at all files again, and waits for the disk again.
func AwaitRecords(atMost time.Duration) {
	for deadline := time.Now().Add(atMost); recording.Load() > 0 && time.Now().Before(deadline); {
		time.Sleep(lockPoll)
	}
}

// filling is one copy of a driver's folder, by several goroutines.
type filling struct {
	from    string // the directory that is read
	dir     string // the managed directory
	staging string
	temps   atomic.Int64 // files in staging

	mu     sync.Mutex
	left   int64 // bytes that may still be copied
	report *FillReport
}

// take reports whether there is space for a file, and counts it.
func (f *filling) take(bytes int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bytes > f.left {
		f.report.LeftOut += bytes
		return false
	}
	f.left -= bytes
	return true
}

func (f *filling) count(files int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report.Files += files
	f.report.Bytes += bytes
}

// errUnsafe is returned for a file or folder that another user can change.
var errUnsafe = errors.New("belongs to another user, or can be written by others")

// checkOwner returns an error for what another user than this one and root can change,
// who would decide what the driver runs.
func checkOwner(path string, info os.FileInfo) error {
	if osfile.OthersCanChange(info) {
		return fmt.Errorf("%s %w", path, errUnsafe)
	}
	return nil
}
