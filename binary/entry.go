package binary

import (
	"bytes"
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// Entry describes one program on disk.
type Entry struct {
	Key          shader.Key `json:"-"`
	Name         string     `json:"name"`       // label
	Bytes        int64      `json:"bytes"`      // of the file
	RawBytes     int64      `json:"raw_bytes"`  // of the program binary
	Created      time.Time  `json:"created"`    // when it was compiled
	LastUse      time.Time  `json:"last_use"`   // the file's time where the index has none
	Hits         uint64     `json:"hits"`       // requests that found it
	CompileNanos int64      `json:"compile_ns"` // time to a primed program without the cache; 0 = unknown
	LoadNanos    int64      `json:"load_ns"`    // time to a primed program from the blob; 0 = unknown

	// Of the latest process that ran it; 0 = unknown.
	GPUNanos         int64   `json:"gpu_ns,omitempty"`          // the GPU's time for a dispatch
	GFLOPS           float64 `json:"gflops,omitempty"`          // in that dispatch, where the application gave its operations
	FirstResultNanos int64   `json:"first_result_ns,omitempty"` // time to get the program and to finish its first dispatch

	// DriverEntries are the names of the entries of the driver's own cache that the
	// program uses, separated by spaces; "" = unknown.
	DriverEntries string `json:"driver_entries,omitempty"`
}

func compareKeys(a, b shader.Key) int { return bytes.Compare(a[:], b[:]) }

// describeEntry sets what the header of a program's blob holds. It keeps a name and a compile
// time that the index has. After an error e is as it was.
func (s *Store) describeEntry(e *Entry, key shader.Key) error {
	h, fileBytes, err := s.readHeader(key)
	if err != nil {
		return err
	}
	e.Key, e.Bytes, e.RawBytes, e.Created = h.Key, fileBytes, int64(h.rawBytes), h.Created
	e.Name, e.CompileNanos = cmp.Or(e.Name, h.Name), cmp.Or(e.CompileNanos, h.CompileNanos)
	return nil
}

// Use is what one process measured about one program since its last Record. The store
// adds up Hits and keeps the latest of everything else.
type Use struct {
	Key          shader.Key
	Name         string
	LastUse      time.Time
	Hits         uint64 // resident and disk
	CompileNanos int64  // time to a primed program without the cache; 0 = unknown
	LoadNanos    int64  // time to a primed program from the blob; 0 = unknown

	GPUNanos         int64   // the GPU's time for a dispatch, the fastest; 0 = unknown
	GFLOPS           float64 // in that dispatch; 0 = unknown
	FirstResultNanos int64   // time to get the program and to finish its first dispatch; 0 = unknown

	// DriverEntries are the entries of the driver's own cache that the program uses; nil
	// = unknown.
	DriverEntries []string
}

// useInterval is the precision of a last use where nothing else of the entry changed. It
// has to be finer than the ages that users prune by.
const useInterval = time.Hour

// apply adds the measurements of one process. It reports whether the entry has to be
// written.
func (e *Entry) apply(u Use) bool {
	before := *e
	e.Hits += u.Hits
	e.usedBy(u.LastUse)
	e.Name = cmp.Or(u.Name, e.Name)
	e.CompileNanos = cmp.Or(u.CompileNanos, e.CompileNanos)
	e.LoadNanos = cmp.Or(u.LoadNanos, e.LoadNanos)
	e.FirstResultNanos = cmp.Or(u.FirstResultNanos, e.FirstResultNanos)
	if u.GPUNanos != 0 {
		e.GPUNanos, e.GFLOPS = u.GPUNanos, u.GFLOPS
	}
	if len(u.DriverEntries) > 0 {
		e.DriverEntries = strings.Join(slices.Sorted(slices.Values(u.DriverEntries)), " ")
	}
	moved := e.LastUse.Sub(before.LastUse)
	before.LastUse = e.LastUse
	return *e != before || moved >= useInterval
}

// usedBy moves the last use forward to t.
func (e *Entry) usedBy(t time.Time) {
	if t.After(e.LastUse) {
		e.LastUse = t.UTC()
	}
}

// fileTime returns when a file was written, and the zero time where it is gone.
func fileTime(file fs.DirEntry) time.Time {
	info, err := file.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
