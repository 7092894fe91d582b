package cache_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// dispatcher is a device whose dispatches the test makes.
type dispatcher struct {
	*cachetest.Device
	first func(uint32) func()
	times func(uint32, time.Duration, float64)
}

func (d *dispatcher) WatchFirstDispatch(watch func(uint32) func()) (stop func()) {
	d.first = watch
	return func() { d.first = func(uint32) func() { return nil } }
}

func (d *dispatcher) WatchTimes(watch func(uint32, time.Duration, float64)) (stop func()) {
	d.times = watch
	return func() { d.times = func(uint32, time.Duration, float64) {} }
}

// What a dispatch took is in the store when the process has ended, and in the next
// process's figures until that measures again.
func TestPerformanceIsRecorded(t *testing.T) {
	dir := t.TempDir()
	a, b := source("a"), source("b")
	run := func(use func(d *dispatcher, c *cache.Cache, a, b uint32)) (entryA, entryB binary.Entry) {
		t.Helper()
		d := &dispatcher{Device: cachetest.NewDevice()}
		c, err := cache.New(d, cache.Options{Dir: dir})
		must(t, err)
		f := &fixture{T: t, dev: d.Device, cache: c}
		first, second := f.get(a), f.get(b)
		use(d, c, first.Program(), second.Program())
		first.Release()
		second.Release()
		must(t, c.Close())
		d.times(first0, time.Second, 1) // after Close nothing is watched
		d.Verify(t)
		opened, err := binary.OpenDir(dir)
		must(t, err)
		store, err := opened.Store(d.Fingerprint())
		must(t, err)
		entries := map[shader.Key]binary.Entry{}
		for e, err := range store.All() {
			must(t, err)
			entries[e.Key] = e
		}
		return entries[a.Key()], entries[b.Key()]
	}
	ea, eb := run(func(d *dispatcher, c *cache.Cache, a, b uint32) {
		done := d.first(a)
		time.Sleep(time.Millisecond)
		done()
		d.times(a, 40*time.Microsecond, 0)
		d.times(a, 20*time.Microsecond, 80_000)
		d.times(a, 30*time.Microsecond, 240_000) // takes longer and is faster
		d.times(a, 10*time.Microsecond, 0)       // a check
		must(t, c.Flush())
		d.times(b, 7*time.Microsecond, 0)
		d.times(b, 9*time.Microsecond, math.NaN())
		d.times(b, 8*time.Microsecond, math.Inf(1))
		d.times(b, 0, 5)
		d.times(12345, time.Second, 5) // not a program of this cache
	})
	if ea.GPUNanos != 30_000 || ea.GFLOPS != 8 || eb.GPUNanos != 7_000 || eb.GFLOPS != 0 {
		t.Errorf("recorded %+v and %+v", ea, eb)
	}
	if least := ea.CompileNanos + int64(time.Millisecond); ea.FirstResultNanos < least || eb.FirstResultNanos != 0 {
		t.Errorf("first results %d, at least %d, and %d", ea.FirstResultNanos, least, eb.FirstResultNanos)
	}
	ea2, eb2 := run(func(d *dispatcher, _ *cache.Cache, a, _ uint32) { d.first(a)() })
	if ea2.GPUNanos != 30_000 || ea2.GFLOPS != 8 || eb2 != withUses(eb, eb2) {
		t.Errorf("a process that measured nothing changed them: %+v, %+v", ea2, eb2)
	}
	if ea2.FirstResultNanos == ea.FirstResultNanos || ea2.FirstResultNanos < ea2.LoadNanos {
		t.Errorf("the first result of a start that loaded: %d", ea2.FirstResultNanos)
	}
}

const first0 = 1 // the first program of a fake device

// withUses returns e with the uses of other.
func withUses(e, other binary.Entry) binary.Entry {
	e.Hits, e.LastUse, e.LoadNanos = other.Hits, other.LastUse, other.LoadNanos
	return e
}

// The first time that the driver runs a program may be the program's check: that has a mark too.
func TestMarkOfACheck(t *testing.T) {
	dir := t.TempDir()
	inFlight := func() (text string) {
		files, _ := filepath.Glob(filepath.Join(dir, "*", "inflight", "*"))
		for _, name := range files {
			data, _ := os.ReadFile(name)
			text += string(data)
		}
		return text
	}
	f := openStart(t, dir, cache.Options{})
	f.wantOrigin(source("a"), job.Compiled)
	f.close()
	f = openStart(t, dir, cache.Options{})
	marked := ""
	h, err := f.cache.Get(t.Context(), source("a").WithCheck(func(context.Context, uint32) error {
		marked = inFlight()
		return nil
	}))
	must(t, err)
	key := source("a").Key().String()
	if mark := "dispatch " + key; !strings.Contains(marked, "+ "+mark) || !strings.Contains(inFlight(), "- "+mark) {
		t.Errorf("in the check: %q; after it: %q", marked, inFlight())
	}
	h.Release()
	f.close()
}
