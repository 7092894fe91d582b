//go:build linux

package conv2d

import (
	"flag"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random inputs; 0 takes a new one")

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
	first job.Origin // of a program that this cache has not given out yet
	seen  map[shader.Key]bool
}

func (e *expectation) check(t *testing.T, timing Timing) {
	t.Helper()
	if len(timing.Programs) == 0 || timing.Plan <= 0 || timing.Upload <= 0 || timing.Run <= 0 || timing.Readback <= 0 {
		t.Errorf("timing %+v leaves something out", timing)
	}
	for _, used := range timing.Programs {
		want := job.Resident
		if !e.seen[used.Key] {
			want = e.first
		}
		e.seen[used.Key] = true
		if used.Origin != want {
			t.Errorf("program %s is %v, want %v", used.Name, used.Origin, want)
		}
	}
}

// threeWays runs the same work cold, resident and from disk, and checks by the
// counters that it was so.
func threeWays(t *testing.T, work func(t *testing.T, r *Runner)) {
	context, dir := gltest.Open(t), t.TempDir()
	programs := newCache(t, context, dir)
	pass := func(name string, first job.Origin) {
		t.Run(name, func(t *testing.T) {
			before := context.Counters()
			origins := &expectation{first: first, seen: map[shader.Key]bool{}}
			r := runnerOver(t, context, programs)
			r.Options.NoCPU = true // programs are what is counted
			r.Observe = func(timing Timing) { origins.check(t, timing) }
			work(t, r)
			if err := r.Executor.Close(); err != nil {
				t.Error(err)
			}
			if err := context.Do(func(*glctx.GL) error { return nil }); err != nil { // deletions are posted
				t.Error(err)
			}
			after := context.Counters()
			made := map[job.Origin]uint64{first: uint64(len(origins.seen))}
			if got := after.Compiles - before.Compiles; got != made[job.Compiled] {
				t.Errorf("%d compiles, want %d", got, made[job.Compiled])
			}
			if got := after.BinaryLoads - before.BinaryLoads; got != made[job.Disk] {
				t.Errorf("%d binaries loaded, want %d", got, made[job.Disk])
			}
			if got := programs.Stats().DiskHits; got != made[job.Disk] {
				t.Errorf("%d disk hits, want %d", got, made[job.Disk])
			}
			if after.Buffers != before.Buffers {
				t.Errorf("%d buffers were left", after.Buffers-before.Buffers)
			}
			if got := programs.Stats().InUse; got != 0 {
				t.Errorf("%d programs are still in use", got)
			}
		})
	}
	pass("cold", job.Compiled)
	pass("resident", job.Resident)
	if err := programs.Close(); err != nil {
		t.Fatal(err)
	}
	programs = newCache(t, context, dir)
	pass("disk", job.Disk)
}

// runnerOver is a runner with an executor that the test closes, or its end.
func runnerOver(t *testing.T, context *glctx.Context, programs *cache.Cache) *Runner {
	t.Helper()
	e, err := executor.New(context, programs, executor.Options{SlotBytes: 1 << 12, SlotJobs: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return &Runner{Executor: e, Programs: programs}
}

// newRunner is a runner with everything of its own, for tests of results alone.
func newRunner(t *testing.T) *Runner {
	r := newRig(t)
	return runnerOver(t, r.context, r.cache)
}

// directly has a runner compute by the simplest algorithm.
func directly(r *Runner) *Runner {
	r.Options.Choice = &Choice{"direct", DirectParams{Local: directLocal}}
	return r
}
