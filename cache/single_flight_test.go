package cache_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// newPair makes the caches of two devices that share their compiles.
func newPair(t *testing.T) (pair [2]*fixture) {
	t.Helper()
	shared, store := cache.NewSingleFlight(), cachetest.NewStore()
	for i := range pair {
		pair[i] = newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{SingleFlight: shared})
	}
	return pair
}

// Programs that two devices preload at the same time are compiled once, half of them by
// each if the lists are in opposite orders, and no cache waits for one that waits for it.
func TestTwoDevicesCompileOnce(t *testing.T) {
	for range 20 {
		pair := newPair(t)
		list := sources(24)
		var all sync.WaitGroup
		for i, f := range pair {
			mine := append([]*shader.Source(nil), list...)
			if i == 1 {
				for a, b := 0, len(mine)-1; a < b; a, b = a+1, b-1 {
					mine[a], mine[b] = mine[b], mine[a]
				}
			}
			all.Go(func() {
				results, err := f.cache.Preload(context.Background(), mine, nil)
				if err != nil {
					t.Error(err)
				}
				for _, r := range results {
					if r.Err != nil {
						t.Errorf("%s: %v", r.Name, r.Err)
					}
				}
			})
			all.Go(func() {
				for _, src := range mine {
					h, err := f.cache.Get(context.Background(), src)
					if err != nil {
						t.Errorf("Get(%s): %v", src.Name(), err)
						return
					}
					h.Release()
				}
			})
		}
		all.Wait()
		if n := pair[0].dev.Calls().Compiles + pair[1].dev.Calls().Compiles; n != len(list) {
			t.Fatalf("%d compiles of %d programs", n, len(list))
		}
		for _, f := range pair {
			for _, src := range list {
				f.wantOrigin(src, job.Resident)
			}
		}
	}
}

// A program that a device computes wrong again, right after it was compiled, is left to the others.
func TestAWrongCompileEndsItsClaim(t *testing.T) {
	src := source("a")
	first := newFixture(t, cache.Options{})
	first.wantOrigin(src, job.Compiled)
	must(t, first.cache.Close())
	shared, store := cache.NewSingleFlight(), first.store.Reopen()
	wrong := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{SingleFlight: shared})
	other := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{SingleFlight: shared})
	_, err := wrong.cache.Get(t.Context(), src.WithCheck(func(context.Context, uint32) error { return errors.New("got 3, want 4") }))
	if !errors.As(err, new(*cache.WrongAnswerError)) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	h, err := other.cache.Get(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
}

// A device waits for the compile of another, and loads the binary.
func TestADeviceLoadsWhatAnotherCompiles(t *testing.T) {
	pair := newPair(t)
	src := source("shared")
	started, proceed := make(chan struct{}), make(chan struct{})
	pair[0].dev.OnCompile = func(context.Context, *shader.Source) error {
		close(started)
		<-proceed
		return nil
	}
	first := make(chan job.Origin, 1)
	go func() {
		h, err := pair[0].cache.Get(context.Background(), src)
		if err != nil {
			t.Error(err)
			return
		}
		origin := h.Origin()
		h.Release() // before the test ends, and the cache with it
		first <- origin
	}()
	<-started
	second := make(chan job.Origin, 1)
	go func() {
		h, err := pair[1].cache.Get(context.Background(), src)
		if err != nil {
			t.Error(err)
			return
		}
		origin := h.Origin()
		h.Release() // before the test ends, and the cache with it
		second <- origin
	}()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := pair[1].cache.Get(ctx, source("other")); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled Get: %v", err)
	}
	close(proceed)
	if a, b := <-first, <-second; a != job.Compiled || b != job.Memory && b != job.Disk {
		t.Errorf("the programs are %v and %v, want compiled and loaded", a, b)
	}
	if n := pair[1].dev.Calls().Compiles; n != 0 {
		t.Errorf("the second device compiled %d times", n)
	}
}

// What a device has compiled is there for others while it waits for one of them: else two
// could wait for each other.
func TestADeviceSharesBeforeItWaits(t *testing.T) {
	pair := newPair(t)
	a, b := source("a"), source("b")
	started, proceed := make(chan struct{}), make(chan struct{})
	pair[1].dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		if src == b {
			close(started)
			<-proceed
		}
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() { pair[1].wantOrigin(b, job.Compiled) })
	<-started
	all.Go(func() {
		if _, err := pair[0].cache.Preload(context.Background(), []*shader.Source{a, b}, nil); err != nil {
			t.Error(err)
		}
	})
	for pair[0].dev.Calls().Compiles == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	h, err := pair[1].cache.Get(ctx, a)
	if close(proceed); err != nil {
		t.Errorf("what the other device has compiled: %v", err)
	} else {
		h.Release()
	}
	all.Wait()
	if n := pair[1].dev.Calls().Compiles; n != 1 {
		t.Errorf("the second device compiled %d times", n)
	}
}

// Where a device cannot compile, or makes no binary, the one that waited compiles itself.
func TestADeviceCompilesWhatAnotherCannot(t *testing.T) {
	for _, broken := range []func(*cachetest.Device){
		func(d *cachetest.Device) {
			d.OnCompile = func(context.Context, *shader.Source) error { return shader.ErrOutOfMemory }
		},
		func(d *cachetest.Device) { d.EmptyBinaries(true) },
		func(d *cachetest.Device) {
			d.OnBinary = func(context.Context, uint32) error { return errors.New("no binary") }
		},
	} {
		pair := newPair(t)
		broken(pair[0].dev)
		src := source("shared")
		var all sync.WaitGroup
		for i, f := range pair {
			all.Go(func() {
				h, err := f.cache.Get(context.Background(), src)
				if err == nil {
					h.Release()
				} else if i == 1 || !errors.Is(err, shader.ErrOutOfMemory) {
					t.Errorf("device %d: %v", i, err)
				}
			})
		}
		all.Wait()
	}
}

// A device that waits for another is woken where that one fails.
func TestADeviceIsWokenByAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pair := newPair(t)
		fail := make(chan struct{})
		pair[0].dev.OnCompile = func(context.Context, *shader.Source) error {
			<-fail
			return errors.New("no")
		}
		src := source("shared")
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := pair[0].cache.Get(context.Background(), src); err == nil {
				t.Error("the device compiled")
			}
		})
		synctest.Wait()
		all.Go(func() { pair[1].wantOrigin(src, job.Compiled) })
		synctest.Wait()
		close(fail)
		all.Wait()
	})
}

// What a device had claimed when its caller ended the goroutine is compiled by another.
func TestADeviceClaimsNothingAfterGoexit(t *testing.T) {
	pair := newPair(t)
	list := sources(5)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = pair[0].cache.Preload(context.Background(), list, func(cache.PreloadResult) { runtime.Goexit() })
	}()
	<-ended
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	results, err := pair[1].cache.Preload(ctx, list, nil)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	must(t, err)
}

// What another device made and this one refuses is compiled here, also while the store has
// not got it yet.
func TestADeviceCompilesWhatItRefuses(t *testing.T) {
	pair := newPair(t)
	stored := make(chan struct{})
	pair[0].store.OnPut = func(*binary.Blob) error {
		<-stored
		return nil
	}
	defer close(stored)
	src := source("shared")
	pair[0].wantOrigin(src, job.Compiled)
	pair[1].dev.RejectBinaries(true)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	h, err := pair[1].cache.Get(ctx, src)
	if err != nil || h.Origin() != job.Compiled {
		t.Fatalf("%v", err)
	}
	h.Release()
}

// Devices of different drivers compile for themselves.
func TestDifferentDriversDoNotShare(t *testing.T) {
	shared := cache.NewSingleFlight()
	a := newFixture(t, cache.Options{SingleFlight: shared})
	other := cachetest.NewDevice()
	fingerprint := other.Fingerprint()
	fingerprint.Version = "5.0"
	other.SetFingerprint(fingerprint)
	b := newFixtureOn(t, other, cachetest.NewStore(), cache.Options{SingleFlight: shared})
	src := source("p")
	a.wantOrigin(src, job.Compiled)
	b.wantOrigin(src, job.Compiled)
}
