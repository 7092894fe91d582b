//go:build linux

package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
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
		want := cache.Disk
		if name == missing.Name() {
			want = cache.Compiled
		}
		if r.Err != nil || r.Origin != want || r.Quarantined {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if len(report.Children) != 1 {
		t.Errorf("%d children", len(report.Children))
	}
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
	requests := []string{"no source", EncodeSource(list[0]), EncodeSource(list[1]), EncodeSource(list[2])}
	got := Child{Find: DecodeSource}.loadBatch(c, requests)
	if len(got) != 4 || got[0] != nil || got[1] == nil || got[1].Name != "a" || got[2] != nil || got[3] != nil {
		t.Errorf("%v", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A driver that crashes while it loads a batch costs one program its binary, and the others
// nothing.
func TestACrashInABatchCostsOneBinary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crash")
	got, report := preloaded(t, sources("a", "b", "c", "d", "e"), func(*binary.Dir) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(fakeLoad, file)
	})
	compiled := 0
	for name, r := range got {
		if r.Err != nil || r.Quarantined {
			t.Errorf("%s: %+v", name, r)
		}
		if r.Origin == cache.Compiled {
			compiled++
		}
	}
	if compiled > 1 || len(report.Children) != 2 {
		t.Errorf("%d programs were compiled by %d children", compiled, len(report.Children))
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
