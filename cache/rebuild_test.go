package cache_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// afterUpdate is a start with a driver that is new to a directory, in which an
// older driver used each program once more often than the one before it.
func afterUpdate(t *testing.T, dir string, o cache.Options, names ...string) *fixture {
	t.Helper()
	f := openStart(t, dir, cache.Options{KeepSources: true})
	for times, name := range names {
		f.wantOrigin(source(name), job.Compiled)
		for range times {
			f.get(source(name)).Release()
		}
	}
	f.close()
	dev := cachetest.NewDevice()
	updated := dev.Fingerprint()
	updated.Version += " updated"
	dev.SetFingerprint(updated)
	o.Dir = dir
	return startFixture(t, dev, nil, o)
}

func names(results []cache.PreloadResult) (list []string) {
	for _, r := range results {
		list = append(list, r.Name)
	}
	return list
}

func TestRebuildAfterADriverUpdate(t *testing.T) {
	f := afterUpdate(t, t.TempDir(), cache.Options{MaxPrograms: 1}, "a", "b", "c", "d", "e", "f")
	h := f.get(source("b")) // the application is running, and the cache is full
	f.flush()
	progress := 0
	results, err := f.cache.Rebuild(context.Background(), func(cache.PreloadResult) { progress++ })
	if got := names(results); err != nil || !slices.Equal(got, []string{"f", "e", "d", "c", "a"}) || progress != 5 {
		t.Fatalf("%q, %d reported, %v", got, progress, err)
	}
	for _, r := range results {
		if r.Err != nil || r.Origin != job.Compiled || r.CompileNanos == 0 {
			t.Errorf("%+v", r)
		}
	}
	if live := f.dev.Live(); !slices.Equal(live, []string{"b"}) {
		t.Errorf("on the device: %q", live)
	}
	f.wantCounts(binary.Counters{Compiles: 6, StoreOnly: 5, Stored: 6})
	h.Release()
	f.wantOrigin(source("f"), job.Disk)
	if results, err := f.cache.Rebuild(context.Background(), nil); err != nil || len(results) != 0 {
		t.Errorf("nothing is missing: %+v, %v", results, err)
	}
}

// A Get joins the load of a program that is being rebuilt.
func TestGetJoinsRebuild(t *testing.T) {
	f := afterUpdate(t, t.TempDir(), cache.Options{}, "a", "b")
	compiling, ctx := make(chan struct{}), newWatchedContext()
	defer ctx.cancel()
	f.dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		if src.Name() == "a" {
			close(compiling)
			<-ctx.watched
		}
		return nil
	}
	done := make(chan error)
	go func() {
		_, err := f.cache.Rebuild(context.Background(), nil)
		done <- err
	}()
	<-compiling
	h, err := f.cache.Get(ctx, source("a"))
	must(t, err)
	must(t, <-done)
	f.dev.Use(h.Program(), source("a").Key())
	h.Release()
	if live := f.dev.Live(); !slices.Equal(live, []string{"a"}) {
		t.Errorf("on the device: %q", live)
	}
	f.wantCounts(binary.Counters{Compiles: 2, StoreOnly: 1, Stored: 2, ResidentHits: 1})
}

func TestRebuildContinuesAfterFailures(t *testing.T) {
	dir := t.TempDir()
	f := afterUpdate(t, dir, cache.Options{}, "a", "bad", "gone", "c")
	f.dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		if src.Name() == "bad" {
			return &shader.CompileError{Name: "bad", Log: "no"}
		}
		return nil
	}
	key := source("gone").Key().String()
	files, err := filepath.Glob(filepath.Join(dir, "sources", key[:2], key+"*"))
	must(t, err)
	must(t, os.WriteFile(files[0], []byte("damage"), 0o600))
	results, err := f.cache.Rebuild(context.Background(), nil)
	if got := names(results); err != nil || !slices.Equal(got, []string{"gone", "c", "bad", "a"}) {
		t.Fatalf("%q, %v", got, err)
	}
	if !errors.Is(results[0].Err, binary.ErrDamaged) || !errors.As(results[2].Err, new(*shader.CompileError)) ||
		results[1].Err != nil || results[3].Err != nil {
		t.Errorf("%+v", results)
	}
}

func TestRebuildEndsWithItsContext(t *testing.T) {
	f := afterUpdate(t, t.TempDir(), cache.Options{}, "a", "b", "c", "d", "e", "f")
	ctx, cancel := context.WithCancel(context.Background())
	results, err := f.cache.Rebuild(ctx, func(cache.PreloadResult) { cancel() })
	if !errors.Is(err, context.Canceled) || len(results) != 4 || results[0].Err != nil {
		t.Errorf("%+v, %v", results, err)
	}
	f.close()
	if _, err := f.cache.Rebuild(context.Background(), nil); !errors.Is(err, shader.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	memory := newFixture(t, cache.Options{MemoryOnly: true})
	if results, err := memory.cache.Rebuild(context.Background(), nil); err != nil || results != nil {
		t.Errorf("without a store: %+v, %v", results, err)
	}
}

// A preload that joins the compile of a rebuild makes the program resident, as it says.
func TestPreloadBesideARebuild(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{KeepSources: true})
	f.get(source("a")).Release()
	f.close()
	compiling, dev := newGate(), cachetest.NewDevice()
	updated := dev.Fingerprint()
	updated.Version += " updated"
	dev.SetFingerprint(updated)
	dev.OnCompile = func(context.Context, *shader.Source) error { compiling.pass(); return nil }
	f = startFixture(t, dev, nil, cache.Options{Dir: dir})
	rebuilt := make(chan error)
	go func() { _, err := f.cache.Rebuild(t.Context(), nil); rebuilt <- err }()
	<-compiling.arrived
	preloaded := make(chan error)
	go func() { _, err := f.cache.Preload(t.Context(), []*shader.Source{source("a")}, nil); preloaded <- err }()
	cache.AwaitWatcher(f.cache, source("a").Key())
	compiling.open()
	if err := errors.Join(<-preloaded, <-rebuilt); err != nil || f.cache.Stats().Resident != 1 {
		t.Errorf("%v; %d programs are resident", err, f.cache.Stats().Resident)
	}
}
