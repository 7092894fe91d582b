package cache_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
)

// start is one process on a directory: it preloads all sources.
func start(t *testing.T, dev *cachetest.Device, o cache.Options) (cache.Stats, cachetest.Calls) {
	t.Helper()
	c, err := cache.New(dev, o)
	if err != nil {
		t.Fatal(err)
	}
	results, err := c.Preload(context.Background(), sources(6), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Name, r.Err)
		}
	}
	c.WaitStored()
	stats := c.Stats()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	dev.Verify(t)
	return stats, dev.Calls()
}

// A driver that refuses what it made costs two starts a read, a refusal and a write for
// each program; then its binaries are left alone, until it is another driver.
func TestADriverThatRefusesItsBinariesGetsSourcesOnly(t *testing.T) {
	dir := t.TempDir()
	refusing := func() *cachetest.Device {
		dev := cachetest.NewDevice()
		dev.RejectBinaries(true)
		return dev
	}
	for i, rejected := range []uint64{0, 6, 6} {
		stats, _ := start(t, refusing(), cache.Options{Dir: dir})
		if stats.SourceOnly != "" || stats.Compiles != 6 || stats.Stored != 6 || stats.Rejected != rejected {
			t.Errorf("start %d: %+v", i, stats)
		}
	}
	var log bytes.Buffer
	stats, calls := start(t, refusing(), cache.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(stats.SourceOnly, "refused 12 of 12") || !strings.Contains(log.String(), "refused 12 of 12") {
		t.Errorf("%+v, log %s", stats, &log)
	}
	if calls.Loads+calls.Binaries != 0 || stats.Stored+stats.Rejected != 0 || stats.Compiles != 6 || stats.MemoryOnly != "" {
		t.Errorf("binaries are used: %+v, %+v", calls, stats)
	}
	if stats, _ = start(t, cachetest.NewDevice(), cache.Options{Dir: dir, Binaries: "always"}); stats.DiskHits != 6 || stats.SourceOnly != "" {
		t.Errorf("always: %+v", stats)
	}
	updated := cachetest.NewDevice()
	f := updated.Fingerprint()
	f.Version = "4.6.1"
	updated.SetFingerprint(f)
	if stats, _ = start(t, updated, cache.Options{Dir: dir}); stats.SourceOnly != "" || stats.Stored != 6 {
		t.Errorf("after an update: %+v", stats)
	}
}

func TestBinariesAreLeftOutByChoice(t *testing.T) {
	dir := t.TempDir()
	start(t, cachetest.NewDevice(), cache.Options{Dir: dir})
	never := func(o cache.Options) {
		t.Helper()
		o.Dir = dir
		if stats, calls := start(t, cachetest.NewDevice(), o); stats.SourceOnly == "" || calls.Loads+calls.Binaries != 0 || stats.Compiles != 6 {
			t.Errorf("%+v, %+v", stats, calls)
		}
	}
	never(cache.Options{Binaries: "never"})
	t.Setenv("SHADERCACHE_BINARIES", "never")
	never(cache.Options{})
	if stats, _ := start(t, cachetest.NewDevice(), cache.Options{Dir: dir, Binaries: "auto"}); stats.DiskHits != 6 {
		t.Errorf("the option does not win: %+v", stats)
	}
	t.Setenv("SHADERCACHE_BINARIES", "sometimes")
	if stats, _ := start(t, cachetest.NewDevice(), cache.Options{Dir: dir}); stats.DiskHits != 6 {
		t.Errorf("a mistake of the user: %+v", stats)
	}
	if _, err := cache.New(cachetest.NewDevice(), cache.Options{Dir: dir, Binaries: "sometimes"}); err == nil {
		t.Error("a mistake of the programmer is no error")
	}
}

func TestDeniedDriversGetSourcesOnly(t *testing.T) {
	dir, dev := t.TempDir(), cachetest.NewDevice()
	f := dev.Fingerprint()
	f.Renderer = "Adreno (TM) 540"
	dev.SetFingerprint(f)
	stats, calls := start(t, dev, cache.Options{Dir: dir})
	if !strings.Contains(stats.SourceOnly, "Adreno (TM) 540") || calls.Binaries != 0 || stats.Stored != 0 {
		t.Errorf("%+v, %+v", stats, calls)
	}
}
