package cache_test

import (
	"context"
	"errors"
	"strconv"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

const (
	runCrashEnvironment     = "CACHE_TEST_RUN_CRASH"
	scratchCrashEnvironment = "CACHE_TEST_SCRATCH_CRASH"
)

func init() {
	inChild[runCrashEnvironment] = func(args []string) { crashGuarded(args[0], "", args[1]) }
	inChild[scratchCrashEnvironment] = func(args []string) { crashGuarded(args[0], args[1], "") }
}

// newScratch returns a cache in memory only that shares the crash guard of c, as a
// tuner uses it.
func newScratch(dev cache.Device, c *cache.Cache) (*cache.Cache, error) {
	return cache.New(dev, cache.Options{MemoryOnly: true, KeepEvictedBytes: -1, CrashGuard: c.CrashGuard()})
}

// A scratch cache leaves neither programs nor blobs behind, and evicts nothing of
// the other cache.
func TestScratchCacheLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{MaxPrograms: 1})
	f.wantOrigin(source("mine"), job.Compiled)
	scratch, err := newScratch(f.dev, f.cache)
	must(t, err)
	results, err := scratch.Preload(context.Background(), []*shader.Source{source("a"), source("b"), source("c")}, nil)
	must(t, err)
	for _, r := range results {
		if r.Err != nil || r.Origin != job.Compiled {
			t.Errorf("%s: %v, %v", r.Name, r.Origin, r.Err)
		}
	}
	if n := len(f.dev.Live()); n != 4 {
		t.Errorf("%d programs, want mine and three of the scratch cache", n)
	}
	must(t, scratch.Close())
	if live := f.dev.Live(); len(live) != 1 || live[0] != "mine" {
		t.Errorf("left are %q", live)
	}
	f.wantOrigin(source("mine"), job.Resident)
	f.close()
	f = openStart(t, dir, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.wantOrigin(source("mine"), job.Disk)
}

func TestRunReturnsTheErrorOfTheWork(t *testing.T) {
	for _, o := range []cache.Options{{}, {MemoryOnly: true}} {
		f := openStart(t, t.TempDir(), o)
		calls, failure := 0, errors.New("no luck")
		for _, want := range []error{nil, failure} {
			if err := f.cache.CrashGuard().Run("work", func() error { calls++; return want }); !errors.Is(err, want) {
				t.Errorf("error is %v, want %v", err, want)
			}
		}
		if calls != 2 {
			t.Errorf("%d calls", calls)
		}
	}
}

// Work that kills twice is refused by name; after one death that was not recorded
// as a crash, surviving clears it.
func TestWorkThatKillsIsRefused(t *testing.T) {
	dir := t.TempDir()
	die := func() {
		t.Helper()
		if !dies(t, runCrashEnvironment, dir+" killer") {
			t.Fatal("the process lived")
		}
	}
	die()
	f := openStart(t, dir, cache.Options{})
	failure := errors.New("failed before the driver was called")
	if err := f.cache.CrashGuard().Run("killer", func() error { return failure }); !errors.Is(err, failure) || len(realStore(t, dir).Quarantined()) != 1 {
		t.Errorf("error is %v; the suspicion ended without a proof", err)
	}
	must(t, f.cache.CrashGuard().Run("killer", func() error { return nil }))
	f.close()
	die()
	die()
	f = openStart(t, dir, cache.Options{})
	err := f.cache.CrashGuard().Run("killer", func() error { t.Error("it ran again"); return nil })
	quarantined, ok := errors.AsType[*binary.Quarantined](err)
	if !ok || quarantined.Name != "killer" || quarantined.Action != binary.ActionRun {
		t.Errorf("error is %v", err)
	}
	must(t, f.cache.CrashGuard().Run("another", func() error { return nil }))
	if list := realStore(t, dir).Quarantined(); len(list) != 1 || list[0].Name != "killer" {
		t.Errorf("in quarantine: %+v", list)
	}
}

// A source that kills in a scratch cache is refused by the next one, and by the
// cache.
func TestSourceThatKillsInAScratchCacheIsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(crashAsEnvironment, strconv.Itoa(int(syscall.SIGSEGV)))
	if !dies(t, scratchCrashEnvironment, dir+" bad") {
		t.Fatal("the process lived")
	}
	f := openStart(t, dir, cache.Options{})
	scratch, err := newScratch(f.dev, f.cache)
	must(t, err)
	for _, c := range []*cache.Cache{scratch, f.cache} {
		if _, err := c.Get(context.Background(), source("bad")); !errors.Is(err, binary.ErrQuarantined) {
			t.Errorf("error is %v", err)
		}
	}
	must(t, scratch.Close())
}
