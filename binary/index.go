package binary

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// index.db of a store, a bbolt file:
//
//	bucket    key         value
//	about     "schema"    "1"
//	programs  key, 32 B   Entry as JSON, without its Key
//	lifetime  "counters"  Counters as JSON
//
// bbolt locks the file for as long as it is open, for readers too while there
// is a writer, so it is opened for one transaction and closed. A damaged bbolt
// file may panic, fault, or send it into endless recursion, which nothing can
// recover from. So index.sum holds the SHA-256 of the whole file, written
// after every change, and no page is trusted before it matches. That also
// makes it safe to leave out fsync: what a power cut tears does not match. An
// index that does not match is set aside and made again from the blobs.
const (
	indexName   = "index.db"
	sumName     = "index.sum"
	indexSchema = "1"
	// indexWait is how long to wait for another process, whose transaction takes
	// a few milliseconds. bbolt itself would ask every 50 ms only, which is what
	// processes that end together would wait for, one after the other.
	indexWait = 100 * time.Millisecond
	indexPoll = 2 * time.Millisecond
)

var (
	aboutBucket    = []byte("about")
	programsBucket = []byte("programs")
	lifetimeBucket = []byte("lifetime")
	schemaKey      = []byte("schema")
	countersKey    = []byte("counters")
)

// index is an open index.db, which other processes wait for until close.
type index struct {
	db      *bolt.DB
	file    *os.File // the one that db has open
	path    string
	fresh   bool // made by this open
	changed bool
	broken  bool // bbolt panicked
}

// contents is everything that an index holds.
type contents struct {
	programs map[shader.Key]Entry
	lifetime Counters
}

// openIndex opens the index in a store's directory and, unless readOnly, makes
// it where it is missing. It returns fs.ErrNotExist, wrapped, ErrBusy, or a
// *DamagedError; any other error is the file system's.
func openIndex(dir string, readOnly bool) (*index, error) {
	x := &index{path: filepath.Join(dir, indexName)}
	info, err := os.Lstat(x.path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, &DamagedError{Path: x.path, Reason: "is not a regular file"}
	case err == nil && info.Size() == 0 && readOnly:
		return nil, fs.ErrNotExist
	case err != nil && (readOnly || !errors.Is(err, fs.ErrNotExist)):
		return nil, err
	}
	if err := x.open(readOnly); err != nil {
		return nil, x.abandon(err)
	}
	if err := x.verify(); err != nil {
		return nil, x.abandon(err)
	}
	return x, nil
}

// open opens the file, as soon as no other process holds it.
func (x *index) open(readOnly bool) error {
	for deadline := time.Now().Add(indexWait); ; time.Sleep(indexPoll) {
		err := x.guard(func() (err error) {
			x.db, err = bolt.Open(x.path, 0o600, x.options(readOnly))
			return err
		})
		if !errors.Is(err, bolterrors.ErrTimeout) || time.Now().After(deadline) {
			return err
		}
	}
}

func (x *index) options(readOnly bool) *bolt.Options {
	return &bolt.Options{
		Timeout:      time.Nanosecond, // ask once
		ReadOnly:     readOnly,
		NoSync:       true,
		NoGrowSync:   true,
		NoStatistics: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, mode)
			if err != nil {
				return nil, err
			}
			x.file = f
			info, err := f.Stat()
			x.fresh = err == nil && info.Size() == 0
			return f, nil
		},
	}
}

// verify compares the open file with index.sum.
func (x *index) verify() error {
	if named, err := os.Stat(x.path); err != nil || !x.isFile(named) {
		return ErrBusy // replaced while we waited for its lock
	}
	if x.fresh {
		return nil
	}
	sum, err := x.sum()
	if err != nil {
		return err
	}
	want, err := os.ReadFile(x.sumPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(bytes.TrimSpace(want), []byte(sum.String())) {
		return &DamagedError{Path: x.path, Reason: "index does not match " + sumName}
	}
	return nil
}

func (x *index) isFile(info fs.FileInfo) bool {
	own, err := x.file.Stat()
	return err == nil && os.SameFile(own, info)
}

func (x *index) sumPath() string { return filepath.Join(filepath.Dir(x.path), sumName) }

func (x *index) sum() (shader.Digest, error) {
	info, err := x.file.Stat()
	if err != nil {
		return shader.Digest{}, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(x.file, 0, info.Size())); err != nil {
		return shader.Digest{}, err
	}
	return shader.Digest(h.Sum(nil)), nil
}

// loadLifetime reads the counters alone, however many programs there are. An
// index without a schema is new and has none.
func (x *index) loadLifetime() (c Counters, err error) {
	err = x.guard(func() error {
		return x.db.View(func(tx *bolt.Tx) error {
			totals := tx.Bucket(lifetimeBucket)
			if totals == nil {
				return nil
			}
			if err := json.Unmarshal(totals.Get(countersKey), &c); err != nil {
				return damaged("lifetime counters: %v", err)
			}
			return nil
		})
	})
	if err != nil {
		return Counters{}, x.abandon(err)
	}
	return c, nil
}

// load reads everything. An index without a schema is new and empty.
func (x *index) load() (*contents, error) {
	c := &contents{programs: map[shader.Key]Entry{}}
	err := x.guard(func() error {
		return x.db.View(func(tx *bolt.Tx) error {
			about := tx.Bucket(aboutBucket)
			if about == nil {
				return nil
			}
			if schema := about.Get(schemaKey); string(schema) != indexSchema {
				return damaged("index has schema %q, this program reads %q", schema, indexSchema)
			}
			if err := json.Unmarshal(tx.Bucket(lifetimeBucket).Get(countersKey), &c.lifetime); err != nil {
				return damaged("lifetime counters: %v", err)
			}
			return tx.Bucket(programsBucket).ForEach(c.add)
		})
	})
	if err != nil {
		return nil, x.abandon(err)
	}
	return c, nil
}

// add takes in one pair of the programs bucket.
func (c *contents) add(key, value []byte) error {
	if len(key) != len(shader.Key{}) {
		return damaged("index has a key of %d bytes", len(key))
	}
	entry := Entry{Key: shader.Key(key)}
	if err := json.Unmarshal(value, &entry); err != nil {
		return damaged("index entry: %v", err)
	}
	c.programs[entry.Key] = entry
	return nil
}

// save writes the lifetime counters and the programs that changed, and deletes
// those that are gone, in one transaction.
func (x *index) save(lifetime Counters, changed map[shader.Key]Entry, gone []shader.Key) error {
	err := x.guard(func() error {
		return x.db.Update(func(tx *bolt.Tx) error {
			about, err1 := tx.CreateBucketIfNotExists(aboutBucket)
			programs, err2 := tx.CreateBucketIfNotExists(programsBucket)
			totals, err3 := tx.CreateBucketIfNotExists(lifetimeBucket)
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			if err := about.Put(schemaKey, []byte(indexSchema)); err != nil {
				return err
			}
			for _, key := range gone {
				if err := programs.Delete(key[:]); err != nil {
					return err
				}
			}
			// In order, pages are filled once and not split.
			programs.FillPercent = 0.9
			for _, key := range slices.SortedFunc(maps.Keys(changed), compareKeys) {
				if err := putJSON(programs, key[:], changed[key]); err != nil {
					return err
				}
			}
			return putJSON(totals, countersKey, lifetime)
		})
	})
	if err != nil {
		return x.abandon(err)
	}
	x.changed = true
	return nil
}

func putJSON(bucket *bolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return bucket.Put(key, data)
}

// close seals what save changed and lets other processes at the index. Where
// sealing fails, the next writer makes the index again.
func (x *index) close() {
	if x.db == nil {
		return
	}
	if x.changed {
		if sum, err := x.sum(); err == nil {
			_ = osfile.WriteUnsynced(x.sumPath(), func(w *bufio.Writer) error {
				_, err := w.WriteString(sum.String() + "\n")
				return err
			})
		}
	}
	_ = x.db.Close()
	x.db = nil
}

// abandon closes an index after an error and says what the error means. bbolt's
// own Close may wait for ever after a panic, so then the file is unlocked and
// closed without it, and the mapping stays behind.
func (x *index) abandon(err error) error {
	if x.db != nil && !x.broken {
		_ = x.db.Close()
	} else if x.file != nil {
		osfile.Unlock(x.file)
		_ = x.file.Close()
	}
	x.db = nil
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return ErrBusy
	case errors.Is(err, ErrBusy), errors.Is(err, ErrDamaged), isSystemError(err):
		return err
	}
	return &DamagedError{Path: x.path, Reason: err.Error()}
}

func isSystemError(err error) bool {
	var path *fs.PathError
	var number syscall.Errno
	return errors.As(err, &path) || errors.As(err, &number)
}

// guard runs f and turns a panic, or a fault on a mapped page that the file no
// longer has, into an error.
func (x *index) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			x.broken = true
			err = damaged("bbolt: %v", reason)
		}
	}()
	return f()
}
