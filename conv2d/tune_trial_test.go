//go:build linux

package conv2d

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// crashEnvironment has the test binary tune with a candidate that crashes the driver,
// in the cache directory that it names.
const crashEnvironment = "CONV2D_TEST_CRASH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashEnvironment); dir != "" {
		tuneWithACrash(dir)
		return
	}
	gltest.Main(m)
}

// crashing is an algorithm whose only candidate takes the process down, see dying.
var crashing = spoiled("crashing", func(*kernel.Sequence, Problem) {})

// dying is a cache of a process that ends, without a word, as soon as the driver has
// to run the crashing candidate: what a crash on a thread of the driver's own does.
type dying struct{ *cache.Cache }

func (d dying) Try(name string, work func() error) error {
	return d.Cache.Try(name, func() error {
		if !strings.HasPrefix(name, "crashing ") {
			return work()
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL) // it returns to nobody
	})
}

// tuneWithACrash is a process that tunes, and dies unless the crashing candidate is
// refused. It prints what became of that.
func tuneWithACrash(dir string) {
	gpu, err := glctx.Open(glctx.Options{CacheDir: dir})
	if err != nil {
		panic(err)
	}
	programs, err := cache.New(gpu, cache.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	convAlgorithms = []algorithm[Problem]{crashing, directAlgorithm}
	r, err := Tune(context.Background(), gpu, dying{programs}, planProblems[0], TuneOptions{Budget: time.Millisecond})
	for _, c := range r.Candidates {
		if c.Choice.Algorithm == "crashing" {
			println(c.Verdict, c.Reason)
		}
	}
	if err := errors.Join(err, programs.Close(), gpu.Close()); err != nil || r.Best.Choice.Algorithm != "direct" {
		println("not tuned")
		os.Exit(1)
	}
}

// TestCandidateThatCrashesTheDriverIsSetAside: a search that the driver does not
// survive costs two starts, and every later one goes on without the candidate.
func TestCandidateThatCrashesTheDriverIsSetAside(t *testing.T) {
	gltest.Open(t).Close() // skips, or fails, where there is no driver
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tune := func() (said string, err error) {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), crashEnvironment+"="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for start := range 2 {
		if said, err := tune(); err == nil || strings.Contains(said, "not tuned") {
			t.Fatalf("start %d: the process did not die: %s", start, said)
		}
	}
	for range 2 {
		said, err := tune()
		if err != nil || !strings.Contains(said, "failed ") || !strings.Contains(said, `"crashing local=64 for conv2d:1x3x12x14-5,3x3,p1"`) ||
			!strings.Contains(said, "the driver had to run it, for the second time") {
			t.Errorf("it is not set aside and named: %v\n%s", err, said)
		}
	}
}

// TestTuneLeavesTheCacheAlone: programs of candidates are not kept, and evict nothing.
func TestTuneLeavesTheCacheAlone(t *testing.T) {
	r := newRig(t)
	kept, err := r.programs(t, firstSequence(t, directAlgorithm, *planProblems[0].Conv2D, deviceOf(r.context.Info())))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Tune(t.Context(), r.context, r.cache, planProblems[1], TuneOptions{Budget: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := r.cache.Flush(); err != nil {
		t.Fatal(err)
	}
	if s := r.cache.Stats(); s.Resident != len(kept) || s.Compiles != uint64(len(kept)) {
		t.Errorf("%d programs, %d compiles; there was %d before", s.Resident, s.Compiles, len(kept))
	}
}
