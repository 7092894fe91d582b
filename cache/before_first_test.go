package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// What BeforeFirst puts into the store is found by the first request, and by those that
// came meanwhile; the device is not called before.
func TestBeforeFirst(t *testing.T) {
	list := sources(3)
	store := cachetest.NewStore()
	dev := cachetest.NewDevice()
	maker := newFixtureOn(t, dev, store, cache.Options{})
	for _, src := range list {
		maker.get(src).Release()
	}
	must(t, maker.cache.Flush())
	var blobs []*binary.Blob
	for _, src := range list {
		b, err := store.Get(src.Key())
		must(t, err)
		blobs = append(blobs, b)
	}
	must(t, maker.cache.Close())

	for name, request := range map[string]func(*cache.Cache) error{
		"Get": func(c *cache.Cache) error { return getAll(context.Background(), c, list) },
		"Get with a context that can end": func(c *cache.Cache) error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			return getAll(ctx, c, list)
		},
		"Preload": func(c *cache.Cache) error {
			_, err := c.Preload(context.Background(), list, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			filled := cachetest.NewStore()
			calls := 0
			f := newFixtureOn(t, cachetest.NewDevice(), filled, cache.Options{BeforeFirst: func() {
				calls++
				time.Sleep(time.Millisecond) // the requests are here by now, most often
				for _, b := range blobs {
					if err := filled.Put(b); err != nil {
						t.Error(err)
					}
				}
			}})
			must(t, request(f.cache))
			if s := f.cache.Stats(); s.Compiles != 0 || s.DiskHits != uint64(len(list)) || calls != 1 {
				t.Errorf("%d calls, %d compiles, %d from the store", calls, s.Compiles, s.DiskHits)
			}
		})
	}
}

// getAll gets all sources at once.
func getAll(ctx context.Context, c *cache.Cache, list []*shader.Source) error {
	var all sync.WaitGroup
	errs := make([]error, len(list))
	for i, src := range list {
		all.Go(func() {
			h, err := c.Get(ctx, src)
			if err == nil {
				h.Release()
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// A request whose context ends does not wait for BeforeFirst; Close does, and a request
// after Close does not begin it.
func TestBeforeFirstAndTheEnd(t *testing.T) {
	release := make(chan struct{})
	f := newFixture(t, cache.Options{BeforeFirst: func() { <-release }})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 2 {
		if _, err := f.cache.Get(ctx, sources(1)[0]); !errors.Is(err, context.Canceled) {
			t.Errorf("Get: %v", err)
		}
	}
	if _, err := f.cache.Rebuild(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Rebuild: %v", err)
	}
	if calls := f.dev.Calls(); calls != (cachetest.Calls{}) {
		t.Errorf("the device was called: %+v", calls)
	}
	close(release)
	must(t, f.cache.Close())

	closed := newFixture(t, cache.Options{BeforeFirst: func() { t.Error("called after Close") }})
	must(t, closed.cache.Close())
	if _, err := closed.cache.Get(context.Background(), sources(1)[0]); !errors.Is(err, shader.ErrClosed) {
		t.Errorf("Get: %v", err)
	}
}
