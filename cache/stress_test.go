package cache_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// TestConcurrentUse calls the whole API from many goroutines, with room for far
// fewer programs than there are, and a device and a store that fail at random. The
// device detects programs that are deleted twice, used after their deletion or
// under another key; the fixture detects those never deleted.
func TestConcurrentUse(t *testing.T) {
	dev, store := cachetest.NewDevice(), cachetest.NewStore()
	dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		if src.Name() == "pinned" {
			return nil
		}
		return sometimes(40, &shader.CompileError{Name: "unlucky"})
	}
	dev.OnLoad = func(context.Context, []byte) error { return sometimes(10, shader.ErrRejected) }
	store.OnGet = func(shader.Key) error { return sometimes(10, errors.New("unlucky")) }
	store.OnPut = func(*binary.Blob) error { return sometimes(10, errors.New("unlucky")) }
	store.OnRecord = func() error { return sometimes(2, errors.New("unlucky")) }
	f := newFixtureOn(t, dev, store, cache.Options{MaxPrograms: 5, MaxBytes: 4500, KeepEvictedBytes: 3000, Now: time.Now})

	list := sources(16)
	pinned := f.get(source("pinned")) // so that Close refuses
	var wg sync.WaitGroup             // of the workers, and of all that they start
	for worker := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 300 {
				stressStep(f, &wg, list, random)
			}
		})
	}
	wg.Wait()
	// Close waits for loads without waiters, too.
	if err := f.cache.Close(); !isInUse(err) {
		t.Errorf("Close: %v", err)
	}
	pinned.Release()
	store.OnRecord = nil
	f.flush()
	s := f.cache.Stats()
	if s.InUse != 0 || s.Resident > 5 && s.OverCapacity == 0 {
		t.Errorf("stats: %+v", s)
	}
	if s.Compiles == 0 || s.MemoryHits == 0 || s.DiskHits == 0 || s.ResidentHits == 0 || s.Rejected == 0 || s.Evictions == 0 {
		t.Errorf("not everything happened: %+v", s)
	}
	if _, counters := store.Recorded(); counters != s.Counters {
		t.Errorf("recorded %+v\ncounted  %+v", counters, s.Counters)
	}
}

func sometimes(oneIn int, err error) error {
	if rand.IntN(oneIn) == 0 {
		return err
	}
	return nil
}

// stressStep makes one random call.
func stressStep(f *fixture, wg *sync.WaitGroup, list []*shader.Source, random *rand.Rand) {
	ctx := context.Background()
	switch n := random.IntN(100); {
	case n < 2:
		f.cache.Preload(ctx, list[random.IntN(8):][:8], nil)
	case n < 4:
		_ = f.cache.Flush()
	case n < 6:
		f.cache.Stats()
	case n < 7:
		f.dev.RunOutOfMemory(1)
	case n < 9:
		if err := f.cache.Close(); !isInUse(err) {
			f.Errorf("Close: %v", err)
		}
	default:
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if n < 20 {
			wg.Go(cancel)
		}
		stressGet(f, wg, ctx, list[random.IntN(len(list))], random)
	}
}

func stressGet(f *fixture, wg *sync.WaitGroup, ctx context.Context, src *shader.Source, random *rand.Rand) {
	h, err := f.cache.Get(ctx, src)
	if err != nil {
		return
	}
	f.dev.Use(h.Program(), src.Key())
	if random.IntN(4) == 0 {
		other := h.Retain()
		h.Release()
		f.dev.Use(other.Program(), src.Key())
		defer other.Release()
	}
	// The first call releases the handle, and may still run when the second
	// returns.
	wg.Go(h.Release)
	h.Release()
}
