package cache_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
)

// While the GPU is short of memory the older half of the idle programs goes, once a
// second; programs in use stay.
func TestLowGPUMemoryEvictsIdlePrograms(t *testing.T) {
	free, asked := int64(1000), 0
	dev := cachetest.NewDevice()
	dev.Memory = func() (int64, int64) {
		asked++
		return 5000, free
	}
	var passed atomic.Int64 // the cache reads its clock on other goroutines too
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{MinFreeGPUBytes: 500, Now: func() time.Time {
		return began.Add(time.Duration(passed.Add(int64(time.Microsecond))))
	}})
	list := sources(20)
	used := f.get(list[0])
	defer used.Release()
	for _, src := range list[1:9] {
		f.wantOrigin(src, cache.Compiled)
	}
	if s := f.cache.Stats(); s.Resident != 9 || asked != 1 || s.GPUMemory != (cache.GPUMemory{Total: 5000, Free: 1000}) {
		t.Fatalf("enough memory, asked %d times: %+v", asked, s)
	}
	free = 499
	f.wantOrigin(list[9], cache.Compiled)
	if s := f.cache.Stats(); s.Resident != 10 || s.LowMemory != 0 {
		t.Errorf("asked again within a second: %+v", s)
	}
	passed.Add(int64(time.Second))
	held := f.get(list[10])
	if s := f.cache.Stats(); s.Resident != 6 || s.Evictions != 5 || s.LowMemory != 1 {
		t.Errorf("low: %+v", s) // of 11, two in use: 9 idle, 5 evicted
	}
	held.Release()
	for i, src := range list[1:11] { // the most recently used stay
		if want := map[bool]cache.Origin{true: cache.Memory, false: cache.Resident}[i < 5]; want == cache.Resident {
			f.wantOrigin(src, want)
		}
	}
	if got := f.origin(list[1]); got == cache.Resident {
		t.Error("the oldest program stayed")
	}
}

func TestGPUMemoryIsAskedForOnlyWhereItMatters(t *testing.T) {
	asked := 0
	dev := cachetest.NewDevice()
	dev.Memory = func() (int64, int64) {
		asked++
		return 0, 7
	}
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{})
	f.wantOrigin(source("a"), cache.Compiled)
	must(t, f.cache.Flush())
	if asked != 0 {
		t.Errorf("asked %d times", asked)
	}
	if m := f.cache.GPUMemory(); m.Free != 7 || f.cache.Stats().GPUMemory != m {
		t.Errorf("%+v", m)
	}
	silent := newFixture(t, cache.Options{MinFreeGPUBytes: 1 << 40})
	silent.wantOrigin(source("a"), cache.Compiled)
	if s := silent.cache.Stats(); s.Resident != 1 || s.LowMemory != 0 {
		t.Errorf("a driver that does not say: %+v", s)
	}
}
