package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// benchCache is a cache in which the programs of list are resident.
func benchCache(b *testing.B, o cache.Options, list []*shader.Source) *cache.Cache {
	b.Helper()
	dev := cachetest.NewDevice()
	o.Store = cachetest.NewStore()
	c, err := cache.New(dev, o)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Preload(context.Background(), list, nil); err != nil {
		b.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
		dev.Verify(b)
	})
	return c
}

// getAndRelease is one iteration of the benchmarks for resident programs.
func getAndRelease(b *testing.B, c *cache.Cache, src *shader.Source) {
	h, err := c.Get(context.Background(), src)
	if err != nil {
		b.Fatal(err)
	}
	h.Release()
}

// BenchmarkGetResident is one Get and Release of one of 100 resident programs.
func BenchmarkGetResident(b *testing.B) {
	list := sources(100)
	c := benchCache(b, cache.Options{}, list)
	src := list[50]
	b.ReportAllocs()
	for b.Loop() {
		getAndRelease(b, c, src)
	}
	wantOnlyHits(b, c, len(list))
}

// BenchmarkGetResidentTraced is the same with a Tracer, which hears of first uses alone.
func BenchmarkGetResidentTraced(b *testing.B) {
	list := sources(100)
	c := benchCache(b, cache.Options{Tracer: trace.NewRecorder(0)}, list)
	src := list[50]
	b.ReportAllocs()
	for b.Loop() {
		getAndRelease(b, c, src)
	}
	wantOnlyHits(b, c, len(list))
}

// BenchmarkGetResidentParallel is the same from 8 goroutines, and from 16. ns/op is time
// over all iterations of all goroutines: below BenchmarkGetResident's, they get more done
// than one. ns/get is the time that one call takes of its CPU.
func BenchmarkGetResidentParallel(b *testing.B) {
	for _, bench := range []struct {
		name                 string
		programs, goroutines int
	}{{"same", 1, 8}, {"distinct", 8, 8}, {"same16", 1, 16}} {
		b.Run(bench.name, func(b *testing.B) {
			list := sources(100)
			c := benchCache(b, cache.Options{}, list)
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range bench.goroutines {
				src := list[i%bench.programs]
				n := (b.N + i) / bench.goroutines
				wg.Go(func() {
					for range n {
						getAndRelease(b, c, src)
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			atOnce := min(bench.goroutines, runtime.GOMAXPROCS(0))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)*float64(atOnce), "ns/get")
			wantOnlyHits(b, c, len(list))
		})
	}
}

// BenchmarkGetDisk is one Get and Release of a program that is loaded from the
// store, with a device and a store that cost nothing: the cache's own
// share. Every iteration evicts a program too, of 1 or of 256.
func BenchmarkGetDisk(b *testing.B) {
	for _, resident := range []int{1, 256} {
		b.Run(fmt.Sprint(resident), func(b *testing.B) {
			list := sources(resident + 1)
			c := benchCache(b, cache.Options{MaxPrograms: resident, KeepEvictedBytes: -1}, list)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				getAndRelease(b, c, list[n%len(list)])
				n++
			}
			if s := c.Stats(); s.DiskHits != uint64(n) || s.Compiles != uint64(len(list)) {
				b.Errorf("%d iterations: %+v", n, s)
			}
		})
	}
}

func wantOnlyHits(b *testing.B, c *cache.Cache, compiles int) {
	b.Helper()
	if s := c.Stats(); s.ResidentHits < uint64(b.N) || s.Compiles != uint64(compiles) || s.InUse != 0 {
		b.Errorf("%d iterations: %+v", b.N, s)
	}
}

func TestResidentGetDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		return // the race detector makes sync.Pool forget on purpose
	}
	f := newFixture(t, cache.Options{})
	src := source("a")
	f.wantOrigin(src, job.Compiled)
	f.flush() // what is done in the background allocates
	allocs := testing.AllocsPerRun(1000, func() {
		h, err := f.cache.Get(context.Background(), src)
		if err != nil {
			t.Error(err)
			return
		}
		h.Release()
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
