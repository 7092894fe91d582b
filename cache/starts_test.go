package cache_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// slowLoads is a device whose loads take longer than its compiles, as those of a driver
// that lost its own cache do.
type slowLoads struct{ *cachetest.Device }

func (d slowLoads) Load(ctx context.Context, format uint32, payload []byte) (shader.Program, error) {
	p, err := d.Device.Load(ctx, format, payload)
	p.LoadNanos = 14e9
	return p, err
}

// A start counts once, a cache that fills the directory does not, and slow loads are no
// negative savings.
func TestStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	work := func(o cache.Options) binary.Counters {
		o.Dir = path
		c, err := cache.New(slowLoads{cachetest.NewDevice()}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range append(sources(3), source("p00")) {
			h, err := c.Get(context.Background(), src)
			if err != nil {
				t.Fatal(err)
			}
			h.Release()
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		return c.Stats().Counters
	}
	if c := work(cache.Options{FillOnly: true}); c.Starts != 0 || c.Compiles != 3 || c.StoreOnly != 3 {
		t.Errorf("filling: %+v", c)
	}
	if c := work(cache.Options{}); c.Starts != 1 || c.DiskHits != 3 || c.DiskRate() != 1 || c.CompilesPerStart() != 0 || c.SavedNanos != 0 {
		t.Errorf("a start: %+v", c)
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	var c binary.Counters
	for _, period := range dir.Starts(time.Time{}) {
		c.Add(period.Counters)
	}
	if c.Starts != 1 || c.DiskHits != 3 || c.ResidentHits != 1 || c.Compiles != 0 {
		t.Errorf("recorded: %+v", c)
	}
	if list := dir.Recompiled(); len(list) != 0 {
		t.Errorf("compiled by no start: %+v", list)
	}
}

// A limit that is stored in the directory applies to an application without options.
func TestAStoredLimitApplies(t *testing.T) {
	for name, c := range map[string]struct {
		options cache.Options
		left    int
	}{
		"stored":     {cache.Options{}, 0},
		"own limit":  {cache.Options{MaxDiskBytes: 1 << 30}, 3},
		"turned off": {cache.Options{MaxDiskBytes: -1}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cache")
			dir, err := binary.OpenDir(path)
			if err == nil {
				err = dir.PutSettings(binary.Settings{MaxBytes: 1})
			}
			if err != nil {
				t.Fatal(err)
			}
			c.options.Dir = path
			device := cachetest.NewDevice()
			made, err := cache.New(device, c.options)
			if err != nil {
				t.Fatal(err)
			}
			for _, src := range sources(3) {
				h, err := made.Get(context.Background(), src)
				if err != nil {
					t.Fatal(err)
				}
				h.Release()
			}
			if err := made.Close(); err != nil {
				t.Fatal(err)
			}
			store, err := dir.Store(device.Fingerprint())
			if err != nil {
				t.Fatal(err)
			}
			if left := len(slices.Collect(store.ByName())); left != c.left {
				t.Errorf("%d programs are left, want %d", left, c.left)
			}
		})
	}
}
