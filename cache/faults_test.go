package cache_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

func TestRefusedBlobIsReplaced(t *testing.T) {
	for name, spoil := range map[string]func(*cachetest.Device, bool){
		"rejected":          (*cachetest.Device).RejectBinaries,
		"another interface": (*cachetest.Device).ChangeInterfaces,
		"another image": func(d *cachetest.Device, change bool) {
			if change {
				d.ChangeInterface(func(i *shader.Interface) { i.Resources[1].Type++ })
			}
		},
		"another unit": func(d *cachetest.Device, change bool) {
			if change {
				d.ChangeInterface(func(i *shader.Interface) { i.Resources[1].Unit++ })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			first := newFixture(t, cache.Options{})
			a := source("a")
			first.wantOrigin(a, job.Compiled)
			first.flush()
			old := first.store.Blob(a.Key())

			dev := cachetest.NewDevice()
			spoil(dev, true)
			f := newFixtureOn(t, dev, first.store.Reopen(), cache.Options{})
			f.wantOrigin(a, job.Compiled)
			f.wantCounts(withStored(f, binary.Counters{Rejected: 1, Compiles: 1}))
			if f.store.Rejected(a.Key()) == "" {
				t.Error("the refused blob was not rejected")
			}
			if fresh := f.store.Blob(a.Key()); fresh == nil || fresh == old {
				t.Error("the refused blob was not replaced")
			}
			spoil(dev, false)
			last := newFixtureOn(t, cachetest.NewDevice(), f.store.Reopen(), cache.Options{})
			last.wantOrigin(a, job.Disk)
		})
	}
}

func TestRefusedBytesInMemoryAreDropped(t *testing.T) {
	f := newFixture(t, cache.Options{MemoryOnly: true, MaxPrograms: 1})
	a, b := source("a"), source("b")
	f.wantOrigin(a, job.Compiled)
	f.flush()
	f.wantOrigin(b, job.Compiled)
	f.flush()
	f.dev.RejectBinaries(true)
	f.wantOrigin(a, job.Compiled)
	f.flush()
	f.wantCounts(binary.Counters{Compiles: 3, Rejected: 1, Evictions: 2})
}

func TestDamagedBlobIsCompiledAgain(t *testing.T) {
	first := newFixture(t, cache.Options{})
	a := source("a")
	first.wantOrigin(a, job.Compiled)
	first.flush()
	store := first.store.Reopen()
	store.Damage(a.Key())
	f := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{})
	f.wantOrigin(a, job.Compiled)
	f.wantCounts(withStored(f, binary.Counters{Damaged: 1, Compiles: 1}))
	if store.Blob(a.Key()) == nil {
		t.Error("the damaged blob was not replaced")
	}
}

func TestFailingStoreStopsNothing(t *testing.T) {
	broken := errors.New("disk on fire")
	store := cachetest.NewStore()
	store.OnGet = func(shader.Key) error { return broken }
	store.OnPut = func(*binary.Blob) error { return broken }
	var log bytes.Buffer
	f := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, src := range sources(3) {
		f.wantOrigin(src, job.Compiled)
	}
	f.flush()
	f.wantCounts(binary.Counters{Compiles: 3, StoreFailures: 6})
	if n := strings.Count(log.String(), "disk on fire"); n != 2 {
		t.Errorf("%d warnings, want one for reading and one for writing:\n%s", n, &log)
	}
}

func TestMemoryOnly(t *testing.T) {
	noFormats := cachetest.NewDevice()
	fingerprint := noFormats.Fingerprint()
	fingerprint.Formats = nil
	noFormats.SetFingerprint(fingerprint)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SHADERCACHE_DIR", "XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}

	for _, test := range []struct {
		name     string
		dev      *cachetest.Device
		options  cache.Options
		warnings int
	}{
		{"requested", cachetest.NewDevice(), cache.Options{MemoryOnly: true}, 0},
		{"no formats", noFormats, cache.Options{Store: cachetest.NewStore()}, 1},
		{"no directory", cachetest.NewDevice(), cache.Options{}, 1},
		{"directory is a file", cachetest.NewDevice(), cache.Options{Dir: file}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			test.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c, err := cache.New(test.dev, test.options)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				h, err := c.Get(context.Background(), source("a"))
				if err != nil {
					t.Fatal(err)
				}
				h.Release()
			}
			if err := c.Flush(); err != nil {
				t.Error(err)
			}
			s := c.Stats()
			if s.MemoryOnly == "" || s.Compiles != 1 || s.ResidentHits != 1 || s.StoreFailures != 0 {
				t.Errorf("stats: %+v", s)
			}
			if n := strings.Count(log.String(), "\n"); n != test.warnings {
				t.Errorf("%d warnings, want %d:\n%s", n, test.warnings, &log)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			test.dev.Verify(t)
		})
	}
	if calls := noFormats.Calls(); calls.Binaries != 0 || calls.Loads != 0 {
		t.Errorf("the binaries of a driver without formats were read: %+v", calls)
	}
}

// TestStoreThatCannotReject: the blob that the driver refused stays, and is
// replaced nevertheless.
func TestStoreThatCannotReject(t *testing.T) {
	first := newFixture(t, cache.Options{})
	a := source("a")
	first.wantOrigin(a, job.Compiled)
	first.flush()
	old := first.store.Blob(a.Key())
	wrong := *old
	wrong.WorkGroup[2]++
	store := first.store.Reopen()
	if err := store.Put(&wrong); err != nil {
		t.Fatal(err)
	}
	store.OnReject = func(shader.Key) error { return errors.New("no") }
	f := newFixtureOn(t, cachetest.NewDevice(), store, cache.Options{})
	f.wantOrigin(a, job.Compiled)
	f.wantCounts(withStored(f, binary.Counters{Rejected: 1, Compiles: 1, StoreFailures: 1}))
	if fresh := store.Blob(a.Key()); fresh == &wrong {
		t.Error("the blob was not replaced")
	}
}

func TestEmptyBinaryIsNotStored(t *testing.T) {
	f := newFixture(t, cache.Options{})
	f.dev.EmptyBinaries(true)
	f.wantOrigin(source("a"), job.Compiled)
	f.flush()
	f.wantCounts(binary.Counters{Compiles: 1})
}

func TestOutOfMemory(t *testing.T) {
	f := newFixture(t, cache.Options{})
	idle, used, next := source("idle"), source("used"), source("next")
	f.wantOrigin(idle, job.Compiled)
	h := f.get(used)
	f.flush()

	f.dev.RunOutOfMemory(1)
	f.wantOrigin(next, job.Compiled)
	f.flush()
	f.wantCounts(binary.Counters{Compiles: 3, OutOfMemory: 1, Evictions: 1, Stored: 3})
	f.dev.Use(h.Program(), used.Key())

	f.dev.RunOutOfMemory(1)
	f.wantOrigin(idle, job.Memory)
	f.wantCounts(binary.Counters{Compiles: 3, MemoryHits: 1, OutOfMemory: 2, Evictions: 2, Stored: 3})

	f.dev.RunOutOfMemory(4) // each way twice
	if _, err := f.cache.Get(context.Background(), next); !errors.Is(err, shader.ErrOutOfMemory) {
		t.Errorf("error %v", err)
	}
	f.wantOrigin(next, job.Memory) // its bytes are still there

	f.dev.RunOutOfMemory(3)
	f.wantOrigin(idle, job.Compiled) // its bytes do not load: it is compiled
	f.flush()
	if f.store.Rejected(idle.Key()) != "" {
		t.Error("a blob was rejected for lack of memory")
	}

	f.dev.RunOutOfMemory(2)
	if _, err := f.cache.Get(context.Background(), source("more")); !errors.Is(err, shader.ErrOutOfMemory) {
		t.Errorf("error %v", err)
	}
	h.Release()
}

func TestContextLost(t *testing.T) {
	f := newFixture(t, cache.Options{})
	a := source("a")
	h := f.get(a)
	f.flush()
	f.dev.LoseContext()
	for _, src := range []*shader.Source{source("b"), a, source("c")} {
		if _, err := f.cache.Get(context.Background(), src); !errors.Is(err, shader.ErrContextLost) {
			t.Errorf("Get(%s): %v", src.Name(), err)
		}
	}
	if n := f.dev.Calls().Compiles; n != 2 {
		t.Errorf("%d compiles: the device was called after its context was lost", n)
	}
	if _, err := f.cache.Preload(context.Background(), sources(2), nil); !errors.Is(err, shader.ErrContextLost) {
		t.Errorf("Preload: %v", err)
	}
	if err := f.cache.Close(); !isInUse(err) {
		t.Errorf("Close with a handle: %v", err)
	}
	h.Release()
}

func TestContextLostWhileCompiling(t *testing.T) {
	f, g := gatedFixture(t, cache.Options{})
	late := f.request(context.Background(), source("late"))
	<-g.arrived
	f.dev.LoseContext()
	if _, err := f.cache.Get(context.Background(), source("other")); !errors.Is(err, shader.ErrContextLost) {
		t.Errorf("error %v", err)
	}
	g.open()
	if got := <-late; !errors.Is(got.err, shader.ErrContextLost) || got.handle != nil {
		t.Errorf("got %v, %v", got.handle, got.err)
	}
}
