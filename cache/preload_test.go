package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

func (f *fixture) preload(list []*shader.Source) []cache.PreloadResult {
	f.Helper()
	var seen []cache.PreloadResult
	results, err := f.cache.Preload(context.Background(), list, func(r cache.PreloadResult) { seen = append(seen, r) })
	if err != nil {
		f.Fatalf("Preload: %v", err)
	}
	if len(results) != len(list) || len(seen) != len(list) {
		f.Fatalf("%d results and %d calls of progress for %d sources", len(results), len(seen), len(list))
	}
	for i, r := range results {
		if r.Name != list[i].Name() || r.Key != list[i].Key() || (r.Err == nil) != (r.Origin != 0) || !slices.Contains(seen, r) {
			f.Errorf("result %d is %+v", i, r)
		}
	}
	return results
}

func TestPreloadMixed(t *testing.T) {
	onDisk, bad := source("on disk"), source("bad")
	first := newFixture(t, cache.Options{})
	first.wantOrigin(onDisk, job.Compiled)
	first.flush()

	dev := cachetest.NewDevice()
	dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		if src.Key() == bad.Key() {
			return &shader.CompileError{Name: src.Name(), Log: "no"}
		}
		return nil
	}
	f := newFixtureOn(t, dev, first.store.Reopen(), cache.Options{})
	resident, fresh, last := source("resident"), source("fresh"), source("last")
	f.wantOrigin(resident, job.Compiled)

	results := f.preload([]*shader.Source{fresh, bad, onDisk, resident, fresh, last})
	for i, want := range []job.Origin{job.Compiled, 0, job.Disk, job.Resident, job.Resident, job.Compiled} {
		if results[i].Origin != want {
			t.Errorf("%s: origin %v, want %v", results[i].Name, results[i].Origin, want)
		}
	}
	var compileError *shader.CompileError
	if !errors.As(results[1].Err, &compileError) {
		t.Errorf("bad: %v", results[1].Err)
	}
	if r := results[0]; r.CompileNanos != int64(time.Millisecond) || r.PrimeNanos != 100 || r.LoadNanos != 0 {
		t.Errorf("fresh: %+v", r)
	}
	if r := results[2]; r.LoadNanos != 1000 || r.PrimeNanos != 100 || r.CompileNanos != 0 {
		t.Errorf("on disk: %+v", r)
	}
	if calls := dev.Calls(); calls.Batches != 2 || calls.Compiles != 4 {
		t.Errorf("the misses were not compiled together: %+v", calls)
	}
	f.wantCounts(withStored(f, binary.Counters{Compiles: 3, CompileErrors: 1, DiskHits: 1}))
	if s := f.cache.Stats(); s.Resident != 4 || s.InUse != 0 {
		t.Errorf("stats: %+v", s)
	}
	f.wantOrigin(last, job.Resident)
}

func TestPreloadOfNothing(t *testing.T) {
	f := newFixture(t, cache.Options{})
	f.preload(nil)
	f.wantCounts(binary.Counters{})
}

func TestPreloadOfMoreThanFits(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 4})
	list := sources(30)
	for _, r := range f.preload(list) {
		if r.Origin != job.Compiled {
			t.Errorf("%+v", r)
		}
	}
	f.wantLive("p26", "p27", "p28", "p29")
	if f.store.Len() != len(list) {
		t.Errorf("%d of %d stored", f.store.Len(), len(list))
	}
	f.wantCounts(binary.Counters{Compiles: 30, Stored: 30, Evictions: 26})
}

func TestPreloadInWindows(t *testing.T) {
	f := newFixture(t, cache.Options{})
	list := make([]*shader.Source, 150)
	for i := range list {
		list[i] = source(fmt.Sprintf("w%03d", i))
	}
	f.preload(list)
	if calls := f.dev.Calls(); calls.Batches != 3 || calls.Compiles != 150 {
		t.Errorf("calls: %+v", calls)
	}
}

// Programs that are stored while a preload compiles, as by the packs of a remote that was
// late, are loaded by the windows that follow.
func TestPreloadLoadsWhatArrivesLate(t *testing.T) {
	list := sources(100)
	first := newFixture(t, cache.Options{})
	first.preload(list)
	first.flush()
	dev, store := cachetest.NewDevice(), cachetest.NewStore()
	arrive := sync.OnceFunc(func() {
		for _, src := range list {
			if err := store.Put(first.store.Blob(src.Key())); err != nil {
				t.Error(err)
			}
		}
	})
	dev.OnCompile = func(context.Context, *shader.Source) error { arrive(); return nil }
	f := newFixtureOn(t, dev, store, cache.Options{})
	f.preload(list)
	if s := f.cache.Stats(); s.Compiles != 64 || s.DiskHits != 36 {
		t.Errorf("%d were compiled, %d loaded", s.Compiles, s.DiskHits)
	}
}

func TestPreloadRetriesThoseOutOfMemory(t *testing.T) {
	f := newFixture(t, cache.Options{})
	f.wantOrigin(source("idle"), job.Compiled)
	f.flush()
	f.dev.RunOutOfMemory(2)
	for _, r := range f.preload(sources(5)) {
		if r.Origin != job.Compiled {
			t.Errorf("%+v", r)
		}
	}
	s := f.cache.Stats()
	if s.OutOfMemory != 2 || s.Compiles != 6 {
		t.Errorf("stats: %+v", s)
	}
}

func TestGetAndPreloadShareALoad(t *testing.T) {
	f, g := gatedFixture(t, cache.Options{})
	a, b := source("a"), source("b")
	answerA := f.request(context.Background(), a)
	<-g.arrived
	done := make(chan []cache.PreloadResult)
	go func() {
		results, _ := f.cache.Preload(context.Background(), []*shader.Source{a, b}, nil)
		done <- results
	}()
	<-g.arrived // b, by Preload
	ctx := newWatchedContext()
	defer ctx.cancel()
	answerB := f.request(ctx, b)
	<-ctx.watched
	g.open()
	results := <-done
	if results[0].Origin != job.Resident || results[1].Origin != job.Compiled {
		t.Errorf("results: %+v", results)
	}
	for _, answers := range []<-chan answer{answerA, answerB} {
		got := <-answers
		if got.err != nil {
			t.Fatal(got.err)
		}
		got.handle.Release()
	}
	f.wantCounts(withStored(f, binary.Counters{Compiles: 2, ResidentHits: 1}))
}

func TestCancelledPreload(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	list := sources(5)
	dev := cachetest.NewDevice()
	var f *fixture
	lastAnswer := make(chan (<-chan answer), 1)
	dev.OnCompile = func(deviceCtx context.Context, src *shader.Source) error {
		if src.Key() == list[2].Key() {
			waiting := newWatchedContext()
			lastAnswer <- f.request(waiting, list[4])
			<-waiting.watched
			cancel()
			return deviceCtx.Err()
		}
		return nil
	}
	f = newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{})
	results, err := f.cache.Preload(ctx, list, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Preload: %v", err)
	}
	for i, r := range results {
		if i < 2 && r.Origin != job.Compiled || i >= 2 && !errors.Is(r.Err, context.Canceled) {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	// A Get waited for the last one: it was compiled nevertheless.
	got := <-<-lastAnswer
	if got.err != nil {
		t.Fatal(got.err)
	}
	f.dev.Use(got.handle.Program(), list[4].Key())
	got.handle.Release()
	f.wantLive("p00", "p01", "p04")
	if f.store.Len() != 3 {
		t.Errorf("%d stored", f.store.Len())
	}
}

func TestPreloadAfterTheEndOfItsContext(t *testing.T) {
	f := newFixture(t, cache.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	results, err := f.cache.Preload(ctx, sources(2), nil)
	if !errors.Is(err, context.Canceled) || !errors.Is(results[1].Err, context.Canceled) || results[1].Name != "p01" {
		t.Errorf("results %+v, error %v", results, err)
	}
	f.wantCounts(binary.Counters{})
}

func TestPreloadsThatOverlap(t *testing.T) {
	f, g := gatedFixture(t, cache.Options{})
	list := sources(3)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.cache.Preload(ctx, list, nil)
	}()
	<-g.arrived
	other := newWatchedContext()
	defer other.cancel()
	answers := make(chan []cache.PreloadResult)
	go func() {
		results, _ := f.cache.Preload(other, list, nil)
		answers <- results
	}()
	<-other.watched
	cancel()
	g.open()
	<-done
	for _, r := range <-answers { // what the first has given up the other compiles
		if r.Err != nil || r.Origin == 0 {
			t.Errorf("cancelling one preload failed another: %+v", r)
		}
	}
}
