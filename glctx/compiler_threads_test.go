//go:build linux && cgo

package glctx_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// compilerChild has this test binary be a process that has compiled a program and waits:
// "none" without compiler threads, "default" with those that a context starts, a number with
// so many, and "N then 0" with N until the program is compiled.
const compilerChild = "SHADERCACHE_TEST_COMPILER_THREADS"

// TestNoCompilerThreads compiles several programs at once: without compiler threads one is
// compiled to its end before the next begins, so that nothing waits for a thread.
func TestNoCompilerThreads(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	var sources []*shader.Source
	for i := range 3 {
		text := fmt.Sprintf("layout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer B { uint x[]; };\nvoid main() { x[0] = %du; }", i)
		sources = append(sources, shader.MustSource(fmt.Sprint("program ", i), text, nil))
	}
	for _, without := range []bool{true, false} {
		recorder := trace.NewRecorder(0)
		c, err := glctx.Open(glctx.Options{NoCompilerThreads: without, Tracer: recorder})
		if err != nil {
			t.Fatal(err)
		}
		isParallel := c.Info().ParallelCompile
		c.Compile(context.Background(), sources, func(i int, p shader.Program, err error) {
			if err != nil {
				t.Errorf("program %d: %v", i, err)
			}
		})
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		var order []string
		for _, e := range recorder.Recording().Events {
			if e.Name == trace.FrontEnd || e.Name == trace.BackEnd {
				order = append(order, e.Name)
			}
		}
		f, b := trace.FrontEnd, trace.BackEnd
		want := []string{f, b, f, b, f, b}
		if isParallel && !without {
			want = []string{f, f, f, b, b, b}
		}
		if !slices.Equal(order, want) {
			t.Errorf("without compiler threads %v: %q, not %q", without, order, want)
		}
	}
}

// BenchmarkIdleCompilerThreads reports the CPU time of 10 s of processes that have compiled a
// program and wait, by the compiler threads that they allowed, and their threads.
func BenchmarkIdleCompilerThreads(b *testing.B) {
	gltest.Open(b)
	var all sync.WaitGroup
	var mu sync.Mutex
	for _, mode := range []string{"none", "default", "4", "1", "4 then 0", "4294967295 then 0"} {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run", "TestCompilerChild")
			cmd.Env = append(os.Environ(), compilerChild+"="+mode, "SHADERCACHE_DIR="+b.TempDir())
			out, err := cmd.Output()
			var us, threads float64
			if err == nil {
				_, err = fmt.Sscan(string(out), &us, &threads)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.Errorf("%s: %v\n%s", mode, err, out)
				return
			}
			name := strings.ReplaceAll(mode, " ", "-")
			b.ReportMetric(us, name+"-cpu-us")
			b.ReportMetric(threads, name+"-threads")
		})
	}
	all.Wait()
	b.ReportMetric(0, "ns/op")
}

func TestCompilerChild(t *testing.T) {
	mode := os.Getenv(compilerChild)
	if mode == "" {
		t.Skip("it is a process of BenchmarkIdleCompilerThreads")
	}
	c, err := glctx.Open(glctx.Options{NoCompilerThreads: mode != "default"})
	if err != nil {
		t.Fatal(err)
	}
	var first, last uint32
	n, _ := fmt.Sscanf(mode, "%d then %d", &first, &last)
	limit := func(is bool, to uint32) {
		if is {
			_ = c.Do(func(gl *glctx.GL) error { gl.LimitCompilerThreads(to); return nil })
		}
	}
	limit(n > 0, first)
	source := shader.MustSource("waits", "layout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer B { uint x[]; };\nvoid main() { x[0] = 7u; }", nil)
	c.Compile(context.Background(), []*shader.Source{source}, func(_ int, _ shader.Program, err error) {
		if err != nil {
			t.Fatal(err)
		}
	})
	limit(n > 1, last)
	time.Sleep(2 * time.Second)
	before := cpuOfThreads(t)
	time.Sleep(10 * time.Second)
	used, threads := time.Duration(0), cpuOfThreads(t)
	for id, now := range threads {
		used += now - before[id]
	}
	fmt.Println(used.Microseconds(), len(threads))
	os.Exit(0)
}

// cpuOfThreads returns the CPU time of each thread of this process, the first field of its
// schedstat.
func cpuOfThreads(t *testing.T) map[string]time.Duration {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]time.Duration{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			continue // it has ended
		}
		var ns int64
		_, err = fmt.Fscan(io.LimitReader(f, 64), &ns)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		times[file] = time.Duration(ns)
	}
	return times
}
