//go:build linux

package conv2d

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// residentMiB is the memory of this process that is in RAM.
func residentMiB(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc here to read the memory of the process from")
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kib) / 1024
}

// startupHandles makes n programs of the start-up workload resident.
func startupHandles(b *testing.B, programs *cache.Cache, n int) []*cache.Handle {
	b.Helper()
	handles := make([]*cache.Handle, n)
	for i := range handles { // as startup.Programs of cmd/startup makes them
		p := GEMMProblem{M: 128, N: 128, K: 128, Factors: AlphaBeta(float32(1+i/12), 0), Activation: Activation(i / 3 % 4)}
		program, err := NewTiledProgram(p, []int{32, 64, 128}[i%3], 32<<10)
		if err != nil {
			b.Fatal(err)
		}
		if handles[i], err = programs.Get(b.Context(), program.Source); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(handles[i].Release)
	}
	return handles
}

// BenchmarkResidentMemory reports what 100 resident programs cost in host
// memory over the bare context, loaded from disk as in a second start.
func BenchmarkResidentMemory(b *testing.B) {
	const n = 100
	c := gltest.Open(b)
	dir := b.TempDir()
	fill, err := cache.New(c, cache.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	for _, h := range startupHandles(b, fill, n) {
		h.Release()
	}
	if err := fill.Close(); err != nil {
		b.Fatal(err)
	}
	fresh := gltest.Open(b)
	most := 0.0 // later rounds find memory that earlier ones freed
	for b.Loop() {
		programs, err := cache.New(fresh, cache.Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		before := residentMiB(b)
		handles := startupHandles(b, programs, n)
		most = max(most, residentMiB(b)-before)
		if s := programs.Stats(); s.DiskHits != n {
			b.Fatalf("%d of %d programs came from disk", s.DiskHits, n)
		}
		for _, h := range handles {
			h.Release()
		}
		if err := programs.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(most, "MiB/100-programs")
}

// BenchmarkSwitch dispatches 1 to 16 programs in turn, 1,000 dispatches to a
// measurement, and reports microseconds a dispatch on the CPU and until the GPU
// has finished.
func BenchmarkSwitch(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprintf("programs=%d", n), func(b *testing.B) {
			c := gltest.Open(b)
			programs, err := cache.New(c, cache.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { programs.Close() })
			handles := startupHandles(b, programs, n)
			var submit, done time.Duration
			rounds := 0
			for b.Loop() {
				rounds++
				if err := c.Do(func(gl *glctx.GL) error {
					s, d, err := switchPrograms(gl, handles)
					submit, done = submit+s, done+d
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
			micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(rounds*switches) }
			b.ReportMetric(micros(submit), "us-submit/dispatch")
			b.ReportMetric(micros(done), "us/dispatch")
		})
	}
}

const switches = 1000

// switchPrograms dispatches the programs in turn on an empty problem: M, N and K
// are 0, so what is timed is the switch.
func switchPrograms(gl *glctx.GL, handles []*cache.Handle) (submit, done time.Duration, err error) {
	gl.Finish()
	start := time.Now()
	for i := range switches {
		gl.UseProgram(handles[i%len(handles)].Program())
		gl.Dispatch(1, 1, 1)
	}
	submit = time.Since(start)
	gl.Finish()
	return submit, time.Since(start), gl.Err()
}
