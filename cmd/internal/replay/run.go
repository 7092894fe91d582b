package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// Item is one program of a recording.
type Item struct {
	Recording string        `json:"recording"` // its path, from the folder in which children run
	Program   shader.Digest `json:"program"`
}

// Result is what became of one item. The index is that of the item. The error is nil; a
// *shader.CompileError where the driver does not compile or link the program; a
// *isolate.LostError where it crashed or took too long; an *isolate.ProgramError for another
// reason. The origin is job.Compiled where the driver made machine code: its cache had none, or
// not all. CompileNanos is the time of the link.
type Result struct {
	isolate.Result
	detail
}

// detail is what a child adds to the result of a program.
type detail struct {
	Primed  glctx.Priming
	Context recording.Context // in which it was replayed: an older one where the driver has no other
}

// Run has children of a pool replay items. Pool.Dir is not used: no program is put into
// quarantine, since the applications give it to the driver all the same. A program that
// crashed the driver is tried once more. done gets each result once, one at a time, in any
// order. Afterwards what NVIDIA's driver stored for each child apart is merged in dir.
//
// The driver of fingerprint gets a folder in dir, so that a push sends its machine code.
//
// It returns an error where a child cannot start, or ctx ends.
func Run(ctx context.Context, pool isolate.Pool, dir *binary.Dir, driver binary.Fingerprint, items []Item, done func(Result)) (isolate.Report, error) {
	if err := Identify(dir, driver); err != nil {
		return isolate.Report{}, fmt.Errorf("replay: %w", err)
	}
	requests := make([]string, len(items))
	for i, item := range items {
		line, err := json.Marshal(item)
		if err != nil {
			panic(err) // strings can be encoded
		}
		requests[i] = string(line)
	}
	pool.Dir = nil
	report, err := pool.Run(ctx, requests, func(r isolate.Result) { done(newResult(r)) })
	_, mergeErr := drivercache.Merge(dir.DriverDir())
	if errors.Is(mergeErr, drivercache.ErrInUse) || errors.Is(mergeErr, fs.ErrNotExist) {
		mergeErr = nil // a later start merges
	}
	report.Merged = time.Now()
	return report, errors.Join(err, mergeErr)
}

// Identify writes the fingerprint of a driver, which may have no programs in dir.
func Identify(dir *binary.Dir, driver binary.Fingerprint) error {
	store, err := dir.Store(driver)
	if err != nil {
		return err
	}
	return errors.Join(store.Identify(), store.Close())
}

func newResult(r isolate.Result) Result {
	got := Result{Result: r}
	_ = json.Unmarshal([]byte(r.Detail), &got.detail) // a failure has none
	if failure, ok := errors.AsType[*isolate.ProgramError](r.Err); ok && failure.Log != "" {
		got.Err = &shader.CompileError{Name: r.Name, Log: failure.Log}
	}
	return got
}
