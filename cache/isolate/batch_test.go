//go:build linux

package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// preloaded compiles programs twice, calls between in the meantime, and returns the
// results of the second time by name.
func preloaded(t *testing.T, list []*shader.Source, between func(*binary.Dir)) (map[string]Result, Report) {
	t.Helper()
	dir := openDir(t)
	t.Setenv(fakeDir, dir.Path())
	p := Pool{Jobs: 1, Timeout: time.Hour, Dir: dir}
	if _, err := p.Compile(context.Background(), list, func(Result) {}); err != nil {
		t.Fatal(err)
	}
	between(dir)
	got := map[string]Result{}
	report, err := p.Compile(context.Background(), list, func(r Result) {
		if _, again := got[r.Name]; again {
			t.Errorf("%s has two results", r.Name)
		}
		got[r.Name] = r
	})
	if err != nil || len(got) != len(list) {
		t.Fatalf("%d results, %v", len(got), err)
	}
	return got, report
}

// Programs that are stored are loaded in batches, those that are not are compiled.
func TestBatchesLoadWhatIsStored(t *testing.T) {
	var list []*shader.Source
	for i := range 2*maxBatch + 3 {
		list = append(list, sources(fmt.Sprintf("program %d", i))...)
	}
	missing := list[5]
	got, report := preloaded(t, list, func(dir *binary.Dir) {
		each(t, dir, func(store *binary.Store) error { return store.Reject(missing.Key(), "the test") })
	})
	for name, r := range got {
		want := job.Disk
		if name == missing.Name() {
			want = job.Compiled
		}
		if r.Err != nil || r.Origin != want || r.Quarantined {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if len(report.Children) != 1 {
		t.Errorf("%d children", len(report.Children))
	}
}

// Programs that are known not to compile start no further children: one answers from the
// record.
func TestKnownFailuresStartNoChildren(t *testing.T) {
	dir := openDir(t)
	t.Setenv(fakeDir, dir.Path())
	list := sources("a", "b", "c")
	for i := range 6 {
		list = append(list, shader.MustSource("broken", fmt.Sprint("text ", i), nil))
	}
	p := Pool{Jobs: 4, Timeout: time.Hour, Dir: dir}
	for _, recorded := range []bool{false, true} {
		failed := 0
		report, err := p.Compile(context.Background(), list, func(r Result) {
			if r.Err == nil {
				return
			}
			failed++
			if r.Recorded != recorded || !errors.As(r.Err, new(*shader.CompileError)) {
				t.Errorf("%+v", r)
			}
		})
		if err != nil || failed != 6 {
			t.Errorf("%d failed, %v", failed, err)
		}
		if recorded && len(report.Children) != 1 {
			t.Errorf("%d children", len(report.Children))
		}
	}
}

// Of pools that compile the same programs at once one does, and the others load them.
func TestPoolsCompileOnce(t *testing.T) {
	dir := openDir(t)
	t.Setenv(fakeDir, dir.Path())
	var list []*shader.Source
	for i := range 12 {
		list = append(list, sources(fmt.Sprintf("program %d", i))...)
	}
	var compiled atomic.Int32
	var pools sync.WaitGroup
	events := trace.NewRecorder(0)
	for range 4 {
		pools.Go(func() {
			own, err := binary.OpenDir(dir.Path()) // as another process has it
			if err != nil {
				t.Error(err)
				return
			}
			p := Pool{Jobs: 2, Timeout: time.Hour, Dir: own, Tracer: events}
			report, err := p.Compile(context.Background(), list, func(r Result) {
				if r.Err != nil {
					t.Errorf("%+v", r)
				} else if r.Origin == job.Compiled {
					compiled.Add(1)
				}
			})
			if err != nil || len(report.Children) > 2 {
				t.Errorf("%d children, %v", len(report.Children), err)
			}
		})
	}
	pools.Wait()
	if n := compiled.Load(); n != 12 {
		t.Errorf("12 programs were compiled %d times", n)
	}
	steps := map[string]int{}
	for _, e := range events.Recording().Events {
		steps[e.Name]++
	}
	if steps[trace.Wait] != 4 || steps[trace.Merge] != 4 {
		t.Errorf("steps: %v", steps)
	}
}

// What arrives while a preload runs, as the packs of a remote that was late, is loaded and
// not compiled.
func TestWhatArrivesLateIsLoaded(t *testing.T) {
	var list []*shader.Source
	for i := range 6 {
		list = append(list, sources(fmt.Sprintf("program %d", i))...)
	}
	filled, late := openDir(t), openDir(t)
	got := map[job.Origin]int{}
	for _, dir := range []*binary.Dir{filled, late} {
		t.Setenv(fakeDir, dir.Path())
		clear(got)
		p := Pool{Jobs: 1, Timeout: time.Hour, Dir: dir}
		_, err := p.Compile(context.Background(), list, func(r Result) {
			if got[r.Origin]++; dir == late && len(got) == 1 && got[job.Compiled] == 1 {
				copyPrograms(t, filled, late)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got[job.Compiled] != 1 || got[job.Disk] != 5 {
		t.Errorf("origins: %v", got)
	}
}

// copyPrograms puts the programs of one directory into another.
func copyPrograms(t *testing.T, from, to *binary.Dir) {
	t.Helper()
	each(t, from, func(store *binary.Store) error {
		path, err := filepath.Rel(from.Path(), store.Path())
		if err != nil {
			return err
		}
		blobs, err := filepath.Glob(filepath.Join(store.Path(), "blobs", "*", "*.bin"))
		for _, blob := range blobs {
			data, readErr := os.ReadFile(blob)
			folder := filepath.Join(to.Path(), path, "blobs", filepath.Base(filepath.Dir(blob)))
			mkdirErr := os.MkdirAll(folder, 0o700)
			err = errors.Join(err, readErr, mkdirErr, os.WriteFile(filepath.Join(folder, filepath.Base(blob)), data, 0o600))
		}
		return err
	})
}

// A child leaves out of a batch what has to be requested alone: what is not stored, what a
// note is on, and what is no request.
func TestRequestsThatLeaveABatch(t *testing.T) {
	dir := openDir(t)
	list := sources("a", "missing", "suspect")
	c, err := cache.New(cachetest.NewDevice(), cache.Options{Dir: dir.Path(), InTrial: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Preload(context.Background(), []*shader.Source{list[0], list[2]}, nil)
	c.WaitStored()
	each(t, dir, func(store *binary.Store) error {
		return errors.Join(err, store.Refuse(binary.Quarantined{Key: list[2].Key(), Action: binary.ActionLoad, Suspect: true}))
	})
	requests := []string{"no source", encodeSource(list[0]), encodeSource(list[1]), encodeSource(list[2])}
	got := loadBatch(c, requests)
	if len(got) != 4 || got[0] != nil || got[1] == nil || got[1].Name != "a" || got[2] != nil || got[3] != nil {
		t.Errorf("%v", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A driver that crashes while it loads binaries costs one program its binary, and the others
// nothing: the driver's own cache is not at fault.
func TestACrashInALoadCostsOneBinary(t *testing.T) {
	for _, list := range [][]*shader.Source{sources("a", "b", "c", "d", "e"), sources("a")} {
		file := filepath.Join(t.TempDir(), "crash")
		got, report := preloaded(t, list, func(*binary.Dir) {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv(fakeLoad, file)
		})
		compiled := 0
		for name, r := range got {
			if r.Err != nil || r.Quarantined || r.BadDriverCache {
				t.Errorf("%s: %+v", name, r)
			}
			if r.Origin == job.Compiled {
				compiled++
			}
		}
		if compiled > 1 || len(report.Children) != 2 {
			t.Errorf("%d programs of %d were compiled by %d children", compiled, len(list), len(report.Children))
		}
	}
}

func TestBatchSize(t *testing.T) {
	for line, want := range map[string]int{batchMark + "1": 1, batchMark + "32": 32, batchMark + "33": 0, batchMark + "-1": 0, batchMark: 0, "2": 0} {
		if n, ok := batchSize(line); ok != (want > 0) || ok && n != want {
			t.Errorf("%q: %d, %v", line, n, ok)
		}
	}
}

func each(t *testing.T, dir *binary.Dir, do func(*binary.Store) error) {
	t.Helper()
	if err := dir.EachStore(func(_ string, store *binary.Store) error { return do(store) }, nil); err != nil {
		t.Fatal(err)
	}
}
