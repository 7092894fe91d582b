// Package index is the file in which a store keeps statistics of its programs. It
// stores bytes by key and notices damage; the store encodes and decodes the values.
package index

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Names of the files, in the directory of the store.
const (
	Name    = "index.db"
	SumName = "index.sum"
)

// index.db is a bbolt file:
//
//	bucket    key         value
//	about     "schema"    "1"
//	programs  key, 32 B   the store's Entry
//	lifetime  "counters"  the store's Counters
//	lifetime  "merged"    names of the records that the last Save added
//
// bbolt locks an open file: a reader excludes writers and a writer excludes everybody.
// So the file is opened for one transaction and closed.
//
// bbolt may panic, fault or recurse without end on a damaged file, and Go cannot recover
// from the last of these. So index.sum holds the SHA-256 of the whole file, and no page
// is read before the sum is found to match. The store moves an index that does not match
// to rejected/ and makes a new one from the blobs.
//
// A change is made in a copy, which replaces the file: index.sum gets the sums of both
// before that, and all three steps are synced. So a process that is killed, or a power
// cut, leaves the file as it was before the change or after it.
const (
	// Schema is the version of the file's content.
	Schema = "1"
	// Wait is how long Open waits for another process where its caller can go on without the
	// index: a transaction takes a few milliseconds. bbolt itself asks every 50 ms only, which
	// processes that end together would wait for one after the other.
	Wait     = 100 * time.Millisecond
	openPoll = 2 * time.Millisecond
)

var (
	aboutBucket    = []byte("about")
	programsBucket = []byte("programs")
	lifetimeBucket = []byte("lifetime")
	schemaKey      = []byte("schema")
	countersKey    = []byte("counters")
	mergedKey      = []byte("merged")
)

// Errors of this package, which are those of package binary too.
var (
	// ErrBusy is returned by Open when another process holds the index for longer than Open
	// is to wait.
	ErrBusy    = errors.New("binary: index is busy")
	ErrDamaged = errors.New("binary: damaged")
)

// DamagedError reports a file or bytes that are not what was written. It matches ErrDamaged.
type DamagedError struct {
	Path   string // file, or "" for bytes in memory
	Reason string
}

func (e *DamagedError) Error() string {
	if e.Path == "" {
		return "binary: damaged: " + e.Reason
	}
	return fmt.Sprintf("binary: damaged file %s: %s", e.Path, e.Reason)
}

func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// File is an open index. Other processes wait until Close. Every error of its methods
// closes it, and is ErrBusy, a *DamagedError, or an error of the file system. A nil *File is
// empty.
type File struct {
	Created bool // by this Open: it is empty until Save

	db      *bolt.DB
	file    *os.File // the file that db has open
	path    string
	sumPath string
	current string   // sum of the file; "" where it is new
	copied  *os.File // of OpenCopy: deleted by Close
	broken  bool     // bbolt panicked
}

// errReplaced is the error of a file that another process replaced while it was opened.
var errReplaced = errors.New("index was replaced")

// Open opens the index in a store's directory. Where it is missing, Open makes it, or
// returns fs.ErrNotExist, wrapped, if readOnly.
func Open(dir string, readOnly bool, wait time.Duration) (*File, error) {
	for deadline := time.Now().Add(wait); ; time.Sleep(openPoll) {
		x := &File{path: filepath.Join(dir, Name), sumPath: filepath.Join(dir, SumName)}
		err := x.openOnce(readOnly)
		if err == nil {
			return x, nil
		}
		again := errors.Is(err, bolterrors.ErrTimeout) || errors.Is(err, errReplaced)
		if !again || time.Now().After(deadline) {
			return nil, x.abandon(err)
		}
		_ = x.abandon(err)
	}
}

func (x *File) openOnce(readOnly bool) error {
	info, err := os.Lstat(x.path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return errors.New("is not a regular file")
	case err != nil && (readOnly || !errors.Is(err, fs.ErrNotExist)):
		return err
	case err == nil && x.isUnfinished(info.Size()):
		if readOnly {
			return &fs.PathError{Op: "open", Path: x.path, Err: fs.ErrNotExist}
		}
		if err := x.beginAgain(); err != nil {
			return err
		}
	}
	if err := x.open(readOnly, os.OpenFile); err != nil {
		return err
	}
	return x.verify()
}

// isUnfinished reports whether the file has no sum and no program, since the process
// that made it was killed before its first Save, or has not reached it.
func (x *File) isUnfinished(size int64) bool {
	if size == 0 {
		return true
	}
	_, err := os.Lstat(x.sumPath)
	return errors.Is(err, fs.ErrNotExist) && size <= newFilePages*int64(os.Getpagesize())
}

// newFilePages is the size of a file that bbolt made, in pages.
const newFilePages = 4

// beginAgain empties an unfinished file that no process holds.
func (x *File) beginAgain() error {
	f, err := os.OpenFile(x.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if osfile.TryLock(f, true) != nil {
		return bolterrors.ErrTimeout
	}
	info, err := f.Stat()
	if err != nil || !x.isUnfinished(info.Size()) {
		return err
	}
	return f.Truncate(0)
}

// open has bbolt open the file by open.
func (x *File) open(readOnly bool, open func(string, int, os.FileMode) (*os.File, error)) error {
	o := &bolt.Options{
		Timeout:      time.Nanosecond, // ask once
		ReadOnly:     readOnly,
		NoSync:       true,
		NoGrowSync:   true,
		NoStatistics: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			if f, err = open(name, flag, mode); err != nil {
				return nil, err
			}
			x.file = f
			info, err := f.Stat()
			x.Created = err == nil && info.Size() == 0
			return f, nil
		},
	}
	return x.guard(func() (err error) {
		x.db, err = bolt.Open(x.path, 0o600, o)
		return err
	})
}

// verify compares the open file with index.sum.
func (x *File) verify() error {
	if !osfile.IsNamed(x.file, x.path) {
		return errReplaced
	}
	if x.Created {
		return nil
	}
	sum, err := sumOf(x.file)
	if err != nil {
		return err
	}
	accepted, err := x.readSums()
	if err != nil {
		return err
	}
	if !slices.Contains(accepted, sum) {
		return fmt.Errorf("index does not match %s", SumName)
	}
	x.current = sum
	return nil
}

// maxSums is the number of sums in index.sum: of the file before the last change, and
// after it.
const maxSums = 2

// readSums returns the sums in index.sum, and none where it is missing. Opening something
// else than a file, such as a FIFO, might never return.
func (x *File) readSums() ([]string, error) {
	info, err := os.Lstat(x.sumPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSums*(2*sha256.Size+2):
		return nil, fmt.Errorf("%s is not a file with sums", SumName)
	}
	data, err := os.ReadFile(x.sumPath)
	return strings.Fields(string(data)), err
}

func sumOf(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return "", err
	}
	return shader.Digest(h.Sum(nil)).String(), nil
}

// Load calls totals with the lifetime counters and the names of merged records, and then
// program, which may be nil, with each program, in the order of the keys. The values are
// valid during the call. It calls nothing for a new index. An error of totals or program
// means damage.
func (x *File) Load(totals func(lifetime, merged []byte) error, program func(key shader.Key, value []byte) error) error {
	if x == nil {
		return nil
	}
	err := x.guard(func() error {
		return x.db.View(func(tx *bolt.Tx) error { return load(tx, totals, program) })
	})
	if err != nil {
		return x.abandon(err)
	}
	return nil
}

func load(tx *bolt.Tx, totals func(lifetime, merged []byte) error, program func(key shader.Key, value []byte) error) error {
	about, lifetime := tx.Bucket(aboutBucket), tx.Bucket(lifetimeBucket)
	if about == nil {
		return nil
	}
	if got := about.Get(schemaKey); string(got) != Schema {
		return fmt.Errorf("index has schema %q, this program reads %q", got, Schema)
	}
	if lifetime == nil {
		return errors.New("index has no counters")
	}
	if err := totals(lifetime.Get(countersKey), lifetime.Get(mergedKey)); err != nil || program == nil {
		return err
	}
	return tx.Bucket(programsBucket).ForEach(func(key, value []byte) error {
		if len(key) != len(shader.Key{}) {
			return fmt.Errorf("index has a key of %d bytes", len(key))
		}
		return program(shader.Key(key), value)
	})
}

// Find calls program with the value of a key, which is valid during the call. It calls
// nothing for a key that the index does not have.
func (x *File) Find(key shader.Key, program func(value []byte)) {
	if x == nil || x.db == nil || x.broken {
		return
	}
	_ = x.guard(func() error {
		return x.db.View(func(tx *bolt.Tx) error {
			if programs := tx.Bucket(programsBucket); programs != nil {
				if value := programs.Get(key[:]); value != nil {
					program(value)
				}
			}
			return nil
		})
	})
}

// Close closes the file. Further calls do nothing.
func (x *File) Close() {
	if x == nil {
		return
	}
	if x.db != nil {
		_ = x.db.Close()
		x.db = nil
	}
	if x.copied != nil {
		_ = osfile.CloseUnnamed(x.copied)
		x.copied = nil
	}
}

// abandon closes the index after an error and returns what the error means to callers.
// After a panic bbolt's own Close may never return, so the file is unlocked and closed
// without it, and its mapping stays.
func (x *File) abandon(err error) error {
	if x.db != nil && !x.broken {
		_ = x.db.Close()
	} else if x.file != nil {
		_ = osfile.Release(x.file)
	}
	x.db = nil
	switch {
	case errors.Is(err, bolterrors.ErrTimeout), errors.Is(err, errReplaced):
		return ErrBusy
	case isSystemError(err):
		return err
	}
	return &DamagedError{Path: x.path, Reason: err.Error()}
}

func isSystemError(err error) bool {
	var path *fs.PathError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &number)
}

// guard calls f and turns a panic, or a fault on a mapped page that the file has lost,
// into an error.
func (x *File) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			x.broken = true
			err = fmt.Errorf("bbolt: %v", reason)
		}
	}()
	return f()
}
