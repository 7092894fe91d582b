//go:build linux

package executor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// reopenChild is the variable of the process that TestReopenedContextsKeepNoMemory measures.
const reopenChild = "SHADERCACHE_TEST_REOPEN"

const (
	reopenWarm  = 6  // cycles before the first measurement
	reopenCount = 16 // cycles until the second
	reopenMost  = 16 << 20
)

// TestReopenedContextsKeepNoMemory opens and closes contexts, with a program and jobs,
// while another context has jobs pending. What stays resident with glibc's default is its
// arenas: a GL thread gets the next one of up to eight a CPU, and each keeps what it freed.
// So the process that is measured has one arena; growth there would be a leak.
func TestReopenedContextsKeepNoMemory(t *testing.T) {
	if os.Getenv(reopenChild) != "" {
		reopenContexts(t)
		return
	}
	gltest.Open(t)
	if raceDetector {
		t.Skip("the race detector keeps memory of its own; the test without it measures")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestReopenedContextsKeepNoMemory$", "-test.v")
	cmd.Env = append(os.Environ(), reopenChild+"=1", "MALLOC_ARENA_MAX=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func reopenContexts(t *testing.T) {
	holder := newFixture(t, Options{})
	program := holder.affine()
	before := int64(0)
	for cycle := range reopenWarm + reopenCount {
		tasks := [2]*task{newTask(program, uint32(cycle), 1<<12), newTask(program, uint32(cycle+1), 1<<12)}
		pending := [2]*Pending{holder.submit(tasks[0].job), holder.submit(tasks[1].job)}
		reopen(t, cycle)
		for i, p := range pending {
			holder.wait(p)
			if err := tasks[i].verify(); err != nil {
				t.Error(err)
			}
		}
		if cycle == reopenWarm-1 {
			before = residentBytes(t)
		}
	}
	if grown := residentBytes(t) - before; grown > reopenMost {
		t.Errorf("%d bytes more are resident after %d contexts", grown, reopenCount)
	}
}

// reopen opens a context with an executor, runs a job and closes all.
func reopen(t *testing.T, cycle int) {
	context, err := glctx.Open(glctx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	programs, err := cache.New(context, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(context, programs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Executor: e, t: t, context: context, cache: programs}
	handle, err := programs.Get(t.Context(), shader.MustSource("affine", affine, shader.Defines{"VARIANT": "0"}))
	if err != nil {
		t.Fatal(err)
	}
	k := newTask(handle, uint32(cycle), 1<<12)
	f.wait(f.submit(k.job))
	if err := k.verify(); err != nil {
		t.Error(err)
	}
	handle.Release()
	for _, closed := range []error{e.Close(), programs.Close(), context.Close()} {
		if closed != nil {
			t.Fatal(closed)
		}
	}
}

// residentBytes returns the resident memory, without what Go has freed.
func residentBytes(t *testing.T) int64 {
	runtime.GC()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Fscan(bytes.NewReader(data), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}
