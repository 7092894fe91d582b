package cache_test

import (
	"context"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
)

// TestRealStore runs three caches after each other on one directory, as three
// processes would.
func TestRealStore(t *testing.T) {
	dir := t.TempDir()
	list := sources(6)
	run := func(work func(*cachetest.Device, *cache.Cache)) {
		t.Helper()
		dev := cachetest.NewDevice()
		c, err := cache.New(dev, cache.Options{Dir: dir, MaxPrograms: 4})
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.MemoryOnly != "" {
			t.Fatalf("memory only: %s", s.MemoryOnly)
		}
		work(dev, c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		dev.Verify(t)
	}
	preload := func(c *cache.Cache, want job.Origin) {
		t.Helper()
		results, err := c.Preload(context.Background(), list, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Origin != want {
				t.Errorf("%s: %v, %v, want %v", r.Name, r.Origin, r.Err, want)
			}
		}
	}
	run(func(_ *cachetest.Device, c *cache.Cache) { preload(c, job.Compiled) })
	run(func(dev *cachetest.Device, c *cache.Cache) {
		preload(c, job.Disk)
		if calls := dev.Calls(); calls.Compiles != 0 || calls.Loads != len(list) {
			t.Errorf("calls: %+v", calls)
		}
		report, err := prune(c, binary.PruneOptions{MaxBytes: 1})
		if err != nil || report.Programs != len(list) {
			t.Errorf("Prune: %+v, %v", report, err)
		}
	})
	run(func(_ *cachetest.Device, c *cache.Cache) { preload(c, job.Compiled) })
}

// prune prunes the directory of a cache by what it has used.
func prune(c *cache.Cache, o binary.PruneOptions) (binary.PruneReport, error) {
	if err := c.Flush(); err != nil {
		return binary.PruneReport{}, err
	}
	store, ok := c.Store().(*binary.Store)
	if !ok { // it works in memory only
		return binary.PruneReport{}, nil
	}
	return store.Dir().Prune(o)
}
