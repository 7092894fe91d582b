package cache_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/job"
)

func TestDiskLimitIsEnforcedOnceADay(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	o := cache.Options{MaxDiskBytes: 1, Now: func() time.Time { return now }}
	for start, want := range []job.Origin{job.Compiled, job.Compiled, job.Disk} {
		f := openStart(t, dir, o) // the first start trims everything, the second is within a day
		f.wantOrigin(source("a"), want)
		f.close()
		if t.Failed() {
			t.Fatalf("start %d", start)
		}
	}
	now = now.Add(25 * time.Hour)
	f := openStart(t, dir, o)
	f.wantOrigin(source("a"), job.Disk)
	f.close()
	f = openStart(t, dir, o)
	f.wantOrigin(source("a"), job.Compiled)
}

func TestSourcesAreKept(t *testing.T) {
	dir := t.TempDir()
	f := openStart(t, dir, cache.Options{}) // not kept
	f.wantOrigin(source("a"), job.Compiled)
	f.close()
	f = openStart(t, dir, cache.Options{KeepSources: true})
	f.wantOrigin(source("a"), job.Disk)
	f.wantOrigin(source("b"), job.Compiled)
	f.close()
	d, err := binary.OpenDir(dir)
	must(t, err)
	var names []string
	for src, err := range d.Sources() {
		must(t, err)
		names = append(names, src.Name())
	}
	if len(names) != 2 {
		t.Errorf("kept: %q", names)
	}
}

// With Backfill the upstream directory is needed once.
func TestBackfill(t *testing.T) {
	baked, private := t.TempDir(), t.TempDir()
	f := openStart(t, baked, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.wantOrigin(source("b"), job.Compiled)
	f.close()
	o := cache.Options{Upstream: baked, Backfill: true}
	f = openStart(t, private, o)
	f.wantOrigin(source("a"), job.Disk)
	f.flush()
	f.wantCounts(binary.Counters{DiskHits: 1, UpstreamHits: 1, Backfilled: 1})
	f.close()
	f = openStart(t, private, o)
	f.wantOrigin(source("a"), job.Disk)
	f.wantCounts(binary.Counters{DiskHits: 1})
	f.close()
	must(t, os.RemoveAll(baked))
	t.Setenv("SHADERCACHE_BACKFILL", "1") // the default of later caches
	f = openStart(t, private, cache.Options{})
	f.wantOrigin(source("a"), job.Disk)
	f.wantOrigin(source("b"), job.Compiled)
	f.close()
}

// A driver that refuses what is upstream goes on with binaries of its own, which it refuses by themselves.
func TestRefusedUpstream(t *testing.T) {
	baked, private := t.TempDir(), t.TempDir()
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	f := openStart(t, baked, cache.Options{})
	for _, name := range names {
		f.wantOrigin(source(name), job.Compiled)
	}
	f.close()
	f = openStart(t, private, cache.Options{Upstream: baked})
	f.dev.RejectBinaries(true)
	for _, name := range names {
		f.wantOrigin(source(name), job.Compiled)
	}
	n := uint64(len(names))
	f.wantCounts(withStored(f, binary.Counters{Compiles: n, Rejected: n, UpstreamRejected: n}))
	f.flush()
	f.close()
	f = openStart(t, private, cache.Options{Upstream: baked})
	for _, name := range names {
		f.wantOrigin(source(name), job.Disk)
	}
	f.close()

	f = openStart(t, private, cache.Options{Upstream: baked, ShareCompiles: time.Minute})
	f.dev.RejectBinaries(true)
	for _, name := range names { // its own, then that upstream
		f.wantOrigin(source(name), job.Compiled)
	}
	f.wantCounts(withStored(f, binary.Counters{Compiles: n, Rejected: 2 * n, UpstreamRejected: n}))
	f.close()
}

func TestProgramsFromUpstream(t *testing.T) {
	baked, private := t.TempDir(), t.TempDir()
	f := openStart(t, baked, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.close()
	o := cache.Options{Upstream: baked}
	f = openStart(t, private, o)
	f.wantOrigin(source("a"), job.Disk)
	f.wantOrigin(source("b"), job.Compiled)
	f.wantCounts(withStored(f, binary.Counters{DiskHits: 1, UpstreamHits: 1, Compiles: 1}))
	f.flush()
	f.close()
	d, err := binary.OpenDir(private)
	must(t, err)
	n, err := d.Lifetime()
	must(t, err)
	if n.UpstreamNanos != 1100 || n.LoadNanos != 1100 || n.UpstreamMisses != 1 || n.MemoryNanos != 0 {
		t.Errorf("of %d ns of loading %d upstream, %d in memory; %d misses upstream", n.LoadNanos, n.UpstreamNanos, n.MemoryNanos, n.UpstreamMisses)
	}
	f = openStart(t, baked, cache.Options{})
	f.wantOrigin(source("b"), job.Compiled) // it was not written upstream
	f.close()

	// Where the directory cannot be used, a private place is, which is kept.
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	file := filepath.Join(private, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, origin := range []job.Origin{job.Compiled, job.Disk} {
		f = openStart(t, file, o)
		f.wantOrigin(source("a"), job.Disk)
		f.wantOrigin(source("c"), origin)
		f.flush()
		if s := f.cache.Stats(); s.MemoryOnly != "" || s.UpstreamHits != 1 {
			t.Errorf("memory only: %q, %d from upstream", s.MemoryOnly, s.UpstreamHits)
		}
		f.close()
	}
	if info, err := os.Stat(filepath.Join(runtime, "shadercache")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("private place: %v, %v", info, err)
	}
	t.Setenv("SHADERCACHE_UPSTREAM", filepath.Join(private, "missing"))
	f = openStart(t, filepath.Join(private, "new"), cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	if s := f.cache.Stats(); strings.Contains(s.MemoryOnly, "missing") {
		t.Errorf("memory only: %s", s.MemoryOnly)
	}
}
