//go:build linux

package conv2d

import (
	"flag"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx/gltest"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random inputs; 0 takes a new one")

func TestMain(m *testing.M) { gltest.Main(m) }

// newSeed is a seed that the log names, so that a failure can be repeated.
func newSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("inputs are those of -seed %d", seed)
	return seed
}

// expectation checks where programs come from.
type expectation struct {
	first cache.Origin // of a program that this cache has not given out yet
	seen  map[string]bool
}

func (e *expectation) check(t *testing.T, timing Timing) {
	t.Helper()
	want := cache.Resident
	if !e.seen[timing.Program] {
		want = e.first
	}
	e.seen[timing.Program] = true
	if timing.Origin != want {
		t.Errorf("program %s is %v, want %v", timing.Program, timing.Origin, want)
	}
}

// threeWays runs the same work cold, resident and from disk, and checks by the
// counters that it was so.
func threeWays(t *testing.T, work func(t *testing.T, r *Runner, origins *expectation)) {
	context, dir := gltest.Open(t), t.TempDir()
	programs := newCache(t, context, dir)
	pass := func(name string, first cache.Origin) {
		t.Run(name, func(t *testing.T) {
			before := context.Counters()
			origins := &expectation{first: first, seen: map[string]bool{}}
			work(t, &Runner{Context: context, Cache: programs}, origins)
			after := context.Counters()
			made := map[cache.Origin]uint64{first: uint64(len(origins.seen))}
			if got := after.Compiles - before.Compiles; got != made[cache.Compiled] {
				t.Errorf("%d compiles, want %d", got, made[cache.Compiled])
			}
			if got := after.BinaryLoads - before.BinaryLoads; got != made[cache.Disk] {
				t.Errorf("%d binaries loaded, want %d", got, made[cache.Disk])
			}
			if got := programs.Stats().DiskHits; got != made[cache.Disk] {
				t.Errorf("%d disk hits, want %d", got, made[cache.Disk])
			}
			if after.Buffers != before.Buffers {
				t.Errorf("%d buffers were left", after.Buffers-before.Buffers)
			}
			if got := programs.Stats().InUse; got != 0 {
				t.Errorf("%d programs are still in use", got)
			}
		})
	}
	pass("cold", cache.Compiled)
	pass("resident", cache.Resident)
	if err := programs.Close(); err != nil {
		t.Fatal(err)
	}
	programs = newCache(t, context, dir)
	pass("disk", cache.Disk)
}

func newCache(t *testing.T, device cache.Device, dir string) *cache.Cache {
	t.Helper()
	c, err := cache.New(device, cache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// newRunner is a runner with a cache of its own, for tests of results alone.
func newRunner(t *testing.T) *Runner {
	context := gltest.Open(t)
	return &Runner{Context: context, Cache: newCache(t, context, t.TempDir())}
}
