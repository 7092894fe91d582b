package cache_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
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
	var now atomic.Int64 // microseconds
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{MinFreeGPUBytes: 500, Now: func() time.Time {
		return time.UnixMicro(now.Add(1))
	}})
	list := sources(20)
	used := f.get(list[0])
	defer used.Release()
	for _, src := range list[1:9] {
		f.wantOrigin(src, job.Compiled)
	}
	f.cache.WaitStored() // what follows a Get in the background is done
	if s := f.cache.Stats(); s.Resident != 9 || asked != 1 || s.GPUMemory != (cache.GPUMemory{Total: 5000, Free: 1000}) {
		t.Fatalf("enough memory, asked %d times: %+v", asked, s)
	}
	free = 499
	f.wantOrigin(list[9], job.Compiled)
	f.cache.WaitStored()
	if s := f.cache.Stats(); s.Resident != 10 || s.LowMemory != 0 {
		t.Errorf("asked again within a second: %+v", s)
	}
	now.Add(1_000_000)
	held := f.get(list[10])
	f.cache.WaitStored()
	if s := f.cache.Stats(); s.Resident != 6 || s.Evictions != 5 || s.LowMemory != 1 {
		t.Errorf("low: %+v", s) // of 11, two in use: 9 idle, 5 evicted
	}
	held.Release()
	for i, src := range list[1:11] { // the most recently used stay
		if want := map[bool]job.Origin{true: job.Memory, false: job.Resident}[i < 5]; want == job.Resident {
			f.wantOrigin(src, want)
		}
	}
	if got := f.origin(list[1]); got == job.Resident {
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
	f.wantOrigin(source("a"), job.Compiled)
	must(t, f.cache.Flush())
	if asked != 0 {
		t.Errorf("asked %d times", asked)
	}
	if m := f.cache.GPUMemory(); m.Free != 7 || f.cache.Stats().GPUMemory != m {
		t.Errorf("%+v", m)
	}
	silent := newFixture(t, cache.Options{MinFreeGPUBytes: 1 << 40})
	silent.wantOrigin(source("a"), job.Compiled)
	silent.cache.WaitStored()
	if s := silent.cache.Stats(); s.Resident != 1 || s.LowMemory != 0 {
		t.Errorf("a driver that does not say: %+v", s)
	}
}
