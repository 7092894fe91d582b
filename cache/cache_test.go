package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// fixture is a cache over a fake device and store, with a clock that ticks once
// a reading, so that no two uses have the same time.
type fixture struct {
	*testing.T
	dev   *cachetest.Device
	store *cachetest.Store
	cache *cache.Cache
}

// newFixture builds a cache and verifies in cleanup that it closes, that every
// program was deleted exactly once and that no goroutine stays.
func newFixture(t *testing.T, o cache.Options) *fixture {
	t.Helper()
	return newFixtureOn(t, cachetest.NewDevice(), cachetest.NewStore(), o)
}

func newFixtureOn(t *testing.T, dev *cachetest.Device, store *cachetest.Store, o cache.Options) *fixture {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() { noMoreGoroutines(t, before) })
	if !o.MemoryOnly {
		o.Store = store
	}
	if o.Now == nil {
		o.Now = ticker()
	}
	return startFixture(t, dev, store, o)
}

// startFixture makes a cache with options and verifies in cleanup that it closes
// and that every program was deleted exactly once.
func startFixture(t *testing.T, dev *cachetest.Device, store *cachetest.Store, o cache.Options) *fixture {
	t.Helper()
	c, err := cache.New(dev, o)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, dev: dev, store: store, cache: c}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, shader.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
		dev.Verify(t)
	})
	return f
}

func ticker() func() time.Time {
	var mu sync.Mutex
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

// noMoreGoroutines waits for goroutines that are on their way out.
func noMoreGoroutines(t *testing.T, before int) {
	t.Helper()
	for range 10_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func source(name string) *shader.Source {
	return shader.MustSource(name, "void main() { /* "+name+" */ }", nil)
}

func sources(n int) []*shader.Source {
	list := make([]*shader.Source, n)
	for i := range list {
		list[i] = source(fmt.Sprintf("p%02d", i))
	}
	return list
}

// get gets a program that must be there to get, and uses it once.
func (f *fixture) get(src *shader.Source) *cache.Handle {
	f.Helper()
	h, err := f.cache.Get(context.Background(), src)
	if err != nil {
		f.Fatalf("Get(%s): %v", src.Name(), err)
	}
	f.dev.Use(h.Program(), src.Key())
	return h
}

// origin gets and releases a program and returns where it came from.
func (f *fixture) origin(src *shader.Source) job.Origin {
	f.Helper()
	h := f.get(src)
	defer h.Release()
	return h.Origin()
}

func (f *fixture) wantOrigin(src *shader.Source, want job.Origin) {
	f.Helper()
	if got := f.origin(src); got != want {
		f.Errorf("%s is %v, want %v", src.Name(), got, want)
	}
}

// wantCounts compares the counters that count events, but for starts.
func (f *fixture) wantCounts(want binary.Counters) {
	f.Helper()
	got := f.cache.Stats().Counters
	got.FirstNanos = 0
	got.Starts, got.CompileNanos, got.LoadNanos, got.SavedNanos = 0, 0, 0, 0
	got.LoadedBytes, got.UpstreamBytes, got.UpstreamNanos, got.MemoryNanos = 0, 0, 0, 0
	if got != want {
		f.Errorf("counters are\n%+v, want\n%+v", got, want)
	}
}

func (f *fixture) flush() {
	f.Helper()
	if err := f.cache.Flush(); err != nil {
		f.Fatalf("Flush: %v", err)
	}
}

func TestOrigins(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 1})
	a, b := source("a"), source("b")
	f.wantOrigin(a, job.Compiled)
	f.wantOrigin(a, job.Resident)
	f.flush()
	f.wantOrigin(b, job.Compiled)
	f.wantOrigin(a, job.Memory)
	f.flush()
	f.wantCounts(binary.Counters{Compiles: 2, ResidentHits: 1, MemoryHits: 1, Evictions: 2, Stored: 2})
	if err := f.cache.Close(); err != nil {
		t.Fatal(err)
	}

	second := newFixtureOn(t, cachetest.NewDevice(), f.store.Reopen(), cache.Options{KeepEvictedBytes: -1, MaxPrograms: 1})
	second.wantOrigin(a, job.Disk)
	second.wantOrigin(b, job.Disk)
	second.wantOrigin(a, job.Disk)
	second.wantCounts(binary.Counters{DiskHits: 3, Evictions: 2})
	stats := second.cache.Stats()
	compile, load := int64(time.Millisecond)+100, int64(1100)
	if stats.LoadNanos != 3*load || stats.SavedNanos != 3*(compile-load) || stats.CompileNanos != 0 {
		t.Errorf("load %d, saved %d, compile %d ns", stats.LoadNanos, stats.SavedNanos, stats.CompileNanos)
	}
	if calls := second.dev.Calls(); calls.Compiles != 0 || calls.Loads != 3 || calls.Binaries != 0 {
		t.Errorf("calls: %+v", calls)
	}
}

func TestHandleDescribesItsProgram(t *testing.T) {
	f := newFixture(t, cache.Options{})
	src := source("a")
	h := f.get(src)
	defer h.Release()
	if h.Name() != "a" || h.Key() != src.Key() {
		t.Errorf("handle of %s %s", h.Name(), h.Key())
	}
	if h.WorkGroup() != h.Interface().WorkGroup || h.WorkGroup()[0] == 0 || len(h.Interface().Resources) != 2 {
		t.Errorf("interface %+v, work group %v", h.Interface(), h.WorkGroup())
	}
}

func TestEqualTextIsOneProgram(t *testing.T) {
	f := newFixture(t, cache.Options{})
	const text = "void main() {}"
	h1 := f.get(shader.MustSource("one", text, nil))
	h2 := f.get(shader.MustSource("two", text, nil))
	defer h1.Release()
	defer h2.Release()
	if h1.Program() != h2.Program() {
		t.Error("the same text was compiled twice under two names")
	}
	f.wantCounts(withStored(f, binary.Counters{Compiles: 1, ResidentHits: 1}))
}

// withStored flushes and expects every compiled program to be stored.
func withStored(f *fixture, c binary.Counters) binary.Counters {
	f.Helper()
	f.flush()
	c.Stored = c.Compiles
	return c
}

func TestCompileErrorIsReturnedAgain(t *testing.T) {
	dev := cachetest.NewDevice()
	dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		return &shader.CompileError{Name: src.Name(), Log: "0:1: syntax error"}
	}
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{})
	for range 2 {
		h, err := f.cache.Get(context.Background(), source("bad"))
		var compileError *shader.CompileError
		if !errors.As(err, &compileError) || compileError.Name != "bad" || h != nil {
			t.Fatalf("handle %v, error %v", h, err)
		}
	}
	f.flush()
	f.wantCounts(binary.Counters{CompileErrors: 1, NegativeHits: 1})
	if s := f.cache.Stats(); s.Resident != 0 || f.store.Len() != 0 {
		t.Errorf("%d resident, %d stored", s.Resident, f.store.Len())
	}
}

func TestOtherDeviceErrorsReachTheCaller(t *testing.T) {
	strange := errors.New("strange")
	dev := cachetest.NewDevice()
	dev.OnCompile = func(context.Context, *shader.Source) error { return strange }
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{})
	if _, err := f.cache.Get(context.Background(), source("a")); !errors.Is(err, strange) || !strings.Contains(err.Error(), "get a") {
		t.Errorf("error %v", err)
	}
	f.wantCounts(binary.Counters{})
}

func TestCloseNamesHandles(t *testing.T) {
	f := newFixture(t, cache.Options{})
	a, b, idle := source("a"), source("b"), source("idle")
	ha, hb := f.get(a), f.get(b)
	hb2 := hb.Retain()
	f.wantOrigin(idle, job.Compiled)

	err := f.cache.Close()
	var inUse *cache.InUseError
	if !errors.As(err, &inUse) {
		t.Fatalf("Close: %v", err)
	}
	want := []cache.InUseProgram{{Name: "a", Key: a.Key(), Handles: 1}, {Name: "b", Key: b.Key(), Handles: 2}}
	if len(inUse.Programs) != 2 || inUse.Programs[0] != want[0] || inUse.Programs[1] != want[1] {
		t.Errorf("in use: %+v, want %+v", inUse.Programs, want)
	}
	if text := err.Error(); !strings.Contains(text, "a "+a.Key().Short()+" (1)") || !strings.Contains(text, "(2)") {
		t.Errorf("error says %q", text)
	}
	f.wantOrigin(idle, job.Resident)
	ha.Release()
	hb.Release()
	if err := f.cache.Close(); !isInUse(err) {
		t.Errorf("Close with a retained handle: %v", err)
	}
	hb2.Release()
	if err := f.cache.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for what, err := range map[string]error{
		"Get":     second(f.cache.Get(ctx, a)),
		"Preload": second(f.cache.Preload(ctx, []*shader.Source{a}, nil)),
		"Flush":   f.cache.Flush(),
		"Close":   f.cache.Close(),
	} {
		if !errors.Is(err, shader.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if n := f.store.Calls().Closes; n != 1 {
		t.Errorf("the store was closed %d times", n)
	}
}

func TestStatsAsJSON(t *testing.T) {
	f := newFixture(t, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.wantOrigin(source("a"), job.Resident)
	stats := f.cache.Stats()
	if rate := stats.HitRate(); rate != 0.5 {
		t.Errorf("hit rate %v", rate)
	}
	text, err := json.Marshal(stats)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"resident_hits":1,`, `"resident":1`, `"resident_bytes":1000`, `"in_use":0`, `"kept_bytes":0`, `"memory_only":""`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// isInUse reports whether an error says that programs are in use.
func isInUse(err error) bool {
	_, is := errors.AsType[*cache.InUseError](err)
	return is
}
