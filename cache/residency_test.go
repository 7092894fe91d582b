package cache_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// wantLive compares the programs that exist with want, sorted. Evicted programs are
// deleted after Get has returned, but before the blob of the new one is stored.
func (f *fixture) wantLive(want ...string) {
	f.Helper()
	f.flush()
	if got := f.dev.Live(); !slices.Equal(got, want) {
		f.Errorf("live programs are %q, want %q", got, want)
	}
}

func TestEvictionOrderIsByLastRelease(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 4, MemoryOnly: true})
	p := sources(8)
	for _, i := range []int{0, 1, 2, 3} {
		f.wantOrigin(p[i], job.Compiled)
	}
	// 0 is got first and released last; 2 is used before 1.
	h := f.get(p[0])
	f.wantOrigin(p[2], job.Resident)
	f.wantOrigin(p[1], job.Resident)
	h.Release()

	f.wantOrigin(p[4], job.Compiled) // 3 goes
	f.wantLive("p00", "p01", "p02", "p04")
	f.wantOrigin(p[5], job.Compiled) // 2 goes
	f.wantLive("p00", "p01", "p04", "p05")
	f.wantOrigin(p[6], job.Compiled) // 1 goes
	f.wantLive("p00", "p04", "p05", "p06")
	f.wantOrigin(p[4], job.Resident)
	f.wantOrigin(p[7], job.Compiled) // 0 goes
	f.wantLive("p04", "p05", "p06", "p07")
	f.wantOrigin(p[0], job.Memory) // 5 goes: 4 was used since
	f.wantOrigin(p[4], job.Resident)
	f.wantCounts(binary.Counters{Compiles: 8, ResidentHits: 5, MemoryHits: 1, Evictions: 5})
}

func TestEvictionOrderFollowsAModel(t *testing.T) { synctest.Test(t, evictionOrderFollowsAModel) }

func evictionOrderFollowsAModel(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 5, MemoryOnly: true, KeepEvictedBytes: -1})
	p := sources(9)
	var model []string // oldest first
	state := uint32(1)
	for range 600 {
		state = state*1664525 + 1013904223
		src := p[(state>>16)%uint32(len(p))]
		want := job.Compiled
		if i := slices.Index(model, src.Name()); i >= 0 {
			want = job.Resident
			model = slices.Delete(model, i, i+1)
		} else if len(model) == 5 {
			model = model[1:]
		}
		model = append(model, src.Name())
		f.wantOrigin(src, want)
	}
	slices.Sort(model)
	synctest.Wait() // no blob is kept, so wantLive would not wait for the deletion
	f.wantLive(model...)
}

func TestEvictionByBytes(t *testing.T) {
	dev := cachetest.NewDevice()
	dev.Size = func(src *shader.Source) int {
		if src.Name() == "large" {
			return 700
		}
		return 300
	}
	f := newFixtureOn(t, dev, cachetest.NewStore(), cache.Options{MaxBytes: 1000})
	a, b, c, large := source("a"), source("b"), source("c"), source("large")
	for _, src := range []*shader.Source{a, b, c} {
		f.wantOrigin(src, job.Compiled)
	}
	f.wantLive("a", "b", "c")
	f.wantOrigin(large, job.Compiled)
	f.wantLive("c", "large")
	if s := f.cache.Stats(); s.ResidentBytes != 1000 || s.Resident != 2 || s.Evictions != 2 || s.OverCapacity != 0 || s.KeptBytes != 600 {
		t.Errorf("stats: %+v", s)
	}
}

func TestOnlyIdleProgramsAreEvicted(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 2})
	a, b, c, d := source("a"), source("b"), source("c"), source("d")
	ha, hb := f.get(a), f.get(b)
	hc := f.get(c)
	f.wantLive("a", "b", "c")
	f.wantCounts(binary.Counters{Compiles: 3, OverCapacity: 1, Stored: 3})
	if s := f.cache.Stats(); s.Resident != 3 || s.InUse != 3 {
		t.Errorf("stats: %+v", s)
	}
	hb.Release()
	hc.Release()
	f.wantOrigin(d, job.Compiled) // b and c go: back under the limit
	f.wantLive("a", "d")
	f.wantCounts(binary.Counters{Compiles: 4, OverCapacity: 1, Evictions: 2, Stored: 4})
	f.dev.Use(ha.Program(), a.Key())
	ha.Release()
}

func TestKeptBytesAreBounded(t *testing.T) {
	f := newFixture(t, cache.Options{MaxPrograms: 1, MemoryOnly: true, KeepEvictedBytes: 2500})
	p := sources(4)
	for _, src := range p {
		f.wantOrigin(src, job.Compiled)
		f.flush()
	}
	if s := f.cache.Stats(); s.KeptBytes != 2000 {
		t.Errorf("%d bytes kept, want those of the last two evicted", s.KeptBytes)
	}
	f.wantOrigin(p[1], job.Memory)
	f.wantOrigin(p[2], job.Memory)
	f.wantOrigin(p[0], job.Compiled)
	if s := f.cache.Stats(); s.KeptBytes > 2500 {
		t.Errorf("%d bytes kept", s.KeptBytes)
	}
}
