//go:build linux

package conv2d

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
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

// crashKernel writes a gigabyte past its shared memory, which a software driver does
// not check: it takes the process down when it runs, and not when it is compiled.
const crashKernel = `
layout(local_size_x = 1) in;
layout(std430, binding = 2) buffer Output { float outputs[]; };
uniform int far;
shared float small[4];
void main() {
    for (int i = 0; i < 64; ++i) {
        small[far + i * 4096] = 1.0;
    }
    barrier();
    outputs[0] = small[far];
}
`

// crashing is an algorithm whose only candidate takes a software driver down.
var crashing = spoiled("crashing", func(r *recipe, _ Problem) {
	r.steps = []step{{
		source: binary.MustSource("crash", crashKernel, nil), groups: [3]int{1, 1, 1},
		uniforms: ints("far", 1<<28), bound: []bound{{2, outputRole}},
	}}
})

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
	r, err := Tune(context.Background(), gpu, programs, planProblems[0], TuneOptions{Budget: time.Millisecond})
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
	if !gltest.Open(t).Info().Software() {
		t.Skip("hardware survives it")
	}
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
			t.Fatalf("start %d: the driver did not die: %s", start, said)
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
	kept, err := r.programs(t, firstRecipe(t, directAlgorithm, *planProblems[0].Conv2D, deviceOf(r.context.Info())))
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
