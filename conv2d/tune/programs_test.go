//go:build linux

package tune

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// crashEnvironment has the test binary search with a candidate that crashes the
// driver, in the cache directory that it names.
const crashEnvironment = "CONV2D_TEST_CRASH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashEnvironment); dir != "" {
		searchWithACrash(dir)
		return
	}
	gltest.Main(m)
}

// searchWithACrash is a process that searches, and dies without a message as soon as
// the driver has to run the candidate "crashing", as by a crash on a thread of the
// driver's own. Where that candidate is refused, it prints the verdict.
func searchWithACrash(dir string) {
	gpu, err := shadercache.Open(shadercache.Options{Dir: dir, NoExecutor: true})
	if err != nil {
		panic(err)
	}
	spoil := map[string]func(s *kernel.Sequence){"crashing": func(*kernel.Sequence) {}}
	s, err := newSpoiledSearch(gpu.Context, gpu.Cache, sampleShapes[0], Options{Budget: time.Millisecond}, spoil, "crashing", "direct")
	if err != nil {
		panic(err)
	}
	guarded := s.programs.guarded
	s.programs.guarded = func(name string, work func() error) error {
		return guarded(name, func() error {
			if !strings.HasPrefix(name, "crashing ") {
				return work()
			}
			return syscall.Kill(os.Getpid(), syscall.SIGKILL) // does not return
		})
	}
	r, err := s.run(context.Background())
	for _, c := range r.Candidates {
		if c.Choice.Algorithm == "crashing" {
			println(c.Verdict, c.Reason)
		}
	}
	if err := errors.Join(err, gpu.Close()); err != nil || r.Best.Choice.Algorithm != "direct" {
		println("not tuned")
		os.Exit(1)
	}
}

// TestCandidateThatCrashesIsRefused has a candidate that crashes the process: it costs
// two starts, and later searches continue without it.
func TestCandidateThatCrashesIsRefused(t *testing.T) {
	gltest.Open(t).Close() // skips, or fails, where there is no driver
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tune := func() (output string, err error) {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), crashEnvironment+"="+dir)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for start := range 2 {
		if output, err := tune(); err == nil || strings.Contains(output, "not tuned") {
			t.Fatalf("start %d: the process did not die: %s", start, output)
		}
	}
	for range 2 {
		output, err := tune()
		if err != nil || !strings.Contains(output, "failed ") || !strings.Contains(output, `"crashing local=64 for conv2d:1x3x12x14-5,3x3,p1"`) ||
			!strings.Contains(output, "while the driver ran it, not for the first time") {
			t.Errorf("it is not refused and named: %v\n%s", err, output)
		}
	}
}

// TestSearchLeavesTheCacheAlone checks that programs of candidates are not kept, and
// evict nothing.
func TestSearchLeavesTheCacheAlone(t *testing.T) {
	device := gltest.Open(t)
	programs, err := cache.New(device, cache.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer programs.Close()
	sources, err := directChoice("direct", 64).Sources(device.Info(), sampleShapes[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		handle, err := programs.Get(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		defer handle.Release()
	}
	if _, err := Search(t.Context(), device, programs, sampleShapes[1], Options{Budget: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := programs.Flush(); err != nil {
		t.Fatal(err)
	}
	if s := programs.Stats(); s.Resident != len(sources) || s.Compiles != uint64(len(sources)) {
		t.Errorf("%d programs, %d compiles; there was %d before", s.Resident, s.Compiles, len(sources))
	}
}
