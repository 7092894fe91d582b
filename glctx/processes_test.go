//go:build linux

package glctx_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// togetherEnvironment holds the directory, the number of programs, how long the process
// waits for others, and when it was started, of one of several that start together.
const togetherEnvironment = "GLCTX_TEST_TOGETHER"

// TestTogetherChild is such a process: it gets all programs of startup48, primed, and
// prints how.
func TestTogetherChild(t *testing.T) {
	arguments := strings.Fields(os.Getenv(togetherEnvironment))
	if len(arguments) != 4 {
		return
	}
	dir := arguments[0]
	count, _ := strconv.Atoi(arguments[1])
	patience, _ := time.ParseDuration(arguments[2])
	nanos, _ := strconv.ParseInt(arguments[3], 10, 64)
	began := time.Unix(0, nanos)
	device, err := glctx.Open(glctx.Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	opened := time.Since(began)
	c, err := cache.New(device, cache.Options{Dir: dir, ShareCompiles: patience})
	if err != nil {
		t.Fatal(err)
	}
	results, err := c.Preload(context.Background(), startupSources(t, count, device.Info().MaxSharedBytes), nil)
	if err != nil {
		t.Fatal(err)
	}
	ready := time.Since(began)
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Name, r.Err)
		}
	}
	stats := c.Stats()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	fmt.Printf("outcome: %d compiled %d loaded %d opened %d ready\n", stats.Compiles, stats.DiskHits, opened.Microseconds(), ready.Microseconds())
}

// startupSources returns programs as startup.Programs of cmd/startup makes them. Without that
// package, nothing of the commands is compiled for the race detector.
func startupSources(t testing.TB, count, sharedBytes int) (sources []*shader.Source) {
	t.Helper()
	tiles := []int{32, 64, 128}
	for i := range count {
		p := conv2d.GEMMProblem{M: 128, N: 128, K: 128, Factors: conv2d.AlphaBeta(float32(1+i/12), 0), Activation: conv2d.Activation(i / 3 % 4)}
		program, err := conv2d.NewTiledProgram(p, tiles[i%3], sharedBytes)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, program.Source)
	}
	return sources
}

// together is what one of the processes printed.
type together struct {
	compiled, loaded int
	opened, ready    time.Duration
}

// startTogether starts processes on an empty directory at once.
func startTogether(t testing.TB, processes, programs int, patience time.Duration) (all []together) {
	t.Helper()
	dir := t.TempDir()
	outputs := make([]strings.Builder, processes)
	var children []*exec.Cmd
	for i := range outputs {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTogetherChild$", "-test.v")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s %d", togetherEnvironment, dir, programs, patience, time.Now().UnixNano()))
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	for i, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, &outputs[i])
		}
		_, outcome, _ := strings.Cut(outputs[i].String(), "outcome: ")
		var p together
		var opened, ready int64
		if _, err := fmt.Sscanf(outcome, "%d compiled %d loaded %d opened %d ready", &p.compiled, &p.loaded, &opened, &ready); err != nil {
			t.Fatalf("%v\n%s", err, &outputs[i])
		}
		p.opened, p.ready = time.Duration(opened)*time.Microsecond, time.Duration(ready)*time.Microsecond
		all = append(all, p)
	}
	return all
}

// Processes that start together with Options.ShareCompiles compile each program once
// between them.
func TestProcessesThatStartTogetherCompileOnce(t *testing.T) {
	gltest.Open(t) // skips or fails without a driver
	const processes, programs = 3, 3
	compiled := 0
	for i, p := range startTogether(t, processes, programs, time.Minute) {
		if p.compiled+p.loaded != programs {
			t.Errorf("process %d: %+v", i, p)
		}
		compiled += p.compiled
	}
	if compiled != programs {
		t.Errorf("%d programs were compiled %d times", programs, compiled)
	}
}

// BenchmarkTogether starts processes at once on an empty directory with an empty driver
// cache; each gets all programs of startup48. alone-ms is from the start of one process to
// all of its programs, mean-ms and slowest-ms the same of four; open-ms is to a context.
func BenchmarkTogether(b *testing.B) {
	gltest.Open(b)
	programs := 48
	for _, c := range []struct {
		name      string
		processes int
		patience  time.Duration
	}{{"alone", 1, 0}, {"alone-sharing", 1, 10 * time.Second}, {"four", 4, 0}, {"four-sharing", 4, 10 * time.Second}} {
		b.Run(c.name, func(b *testing.B) {
			var mean, slowest, open time.Duration
			compiled := 0
			for range b.N {
				var last time.Duration
				for _, p := range startTogether(b, c.processes, programs, c.patience) {
					mean += p.ready / time.Duration(c.processes)
					open += p.opened / time.Duration(c.processes)
					last = max(last, p.ready)
					compiled += p.compiled
				}
				slowest += last
			}
			perRun := func(d time.Duration) float64 { return d.Seconds() * 1e3 / float64(b.N) }
			b.ReportMetric(float64(compiled)/float64(b.N), "compiles")
			b.ReportMetric(perRun(open), "open-ms")
			b.ReportMetric(perRun(mean), "mean-ms")
			b.ReportMetric(perRun(slowest), "slowest-ms")
		})
	}
}

// BenchmarkGPUMemory measures what contexts and programs take of a GPU's memory: 100
// programs compiled and primed, and deleted again. The memory is that of all processes,
// so nothing else may use the GPU.
func BenchmarkGPUMemory(b *testing.B) {
	c := gltest.Open(b)
	total, before := c.GPUMemory()
	if before == 0 {
		b.Skip("the driver does not say how much memory is free")
	}
	free := func(c *glctx.Context) int64 {
		noError(b, c.Do(func(gl *glctx.GL) error {
			gl.Finish()
			return gl.Err()
		}))
		_, free := c.GPUMemory()
		return free
	}
	const kib = 1 << 10
	for range b.N {
		before = free(c)
		second, err := glctx.Open(glctx.Options{DriverCacheOff: true})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(before-free(c))/kib, "context-KiB")
		second.Close()
		before = free(c)
		var ids []uint32
		bytes := 0
		c.Compile(context.Background(), startupSources(b, 100, c.Info().MaxSharedBytes), func(_ int, p shader.Program, err error) {
			if err != nil {
				b.Fatal(err)
			}
			ids = append(ids, p.ID)
			bytes += p.Bytes
		})
		b.ReportMetric(float64(before-free(c))/kib, "programs-KiB")
		b.ReportMetric(float64(bytes)/kib, "binaries-KiB")
		for _, id := range ids {
			c.Delete(id)
		}
		b.ReportMetric(float64(before-free(c))/kib, "deleted-KiB")
	}
	b.ReportMetric(float64(total)/kib, "total-KiB")
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
