//go:build linux

package glctx_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// busyText keeps the GPU busy for milliseconds. Its loop stays below the turns that
// software drivers allow.
const busyText = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Words { uint words[]; };
void main() {
    uint x = gl_GlobalInvocationID.x;
    for (uint i = 0u; i < 60000u; ++i) x = x * 1664525u + 1013904223u;
    words[gl_GlobalInvocationID.x % 64u] = x;
}`

// BenchmarkPriority measures a dispatch of one invocation, until the host has its fence,
// while another context of low priority keeps two long dispatches on the GPU.
func BenchmarkPriority(b *testing.B) {
	for _, p := range []string{"low", "medium", "high"} {
		b.Run(string(p), func(b *testing.B) {
			busy, mine := openPriority(b, "low"), openPriority(b, p)
			stop := keepBusy(b, busy)
			defer stop()
			program := benchProgram(b, mine, `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Words { uint words[]; };
void main() { words[0] += 1u; }`)
			memory := benchBuffer(b, mine)
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				if err := mine.Do(func(gl *glctx.GL) error { return dispatchNow(gl, program, memory, 1) }); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "us/median")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "us/p99")
			b.Logf("%s: requested %v and %v, granted %v and %v", mine.Info().GPU, "low", p, busy.Priority(), mine.Priority())
		})
	}
}

func openPriority(b *testing.B, p string) *glctx.Context {
	b.Helper()
	c, err := glctx.Open(glctx.Options{Priority: p, DriverCacheOff: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

func benchBuffer(b *testing.B, c *glctx.Context) (memory glctx.Buffer) {
	b.Helper()
	if err := c.Do(func(gl *glctx.GL) (err error) { memory, err = gl.NewBuffer(256, nil); return err }); err != nil {
		b.Fatal(err)
	}
	return memory
}

// dispatchNow dispatches groups and waits for them.
func dispatchNow(gl *glctx.GL, program uint32, memory glctx.Buffer, groups uint32) error {
	gl.UseProgram(program)
	gl.BindStorage(0, memory)
	gl.Dispatch(groups, 1, 1)
	return waitNow(gl)
}

// keepBusy has long dispatches follow each other until stop is called.
func keepBusy(b *testing.B, c *glctx.Context) (stop func()) {
	b.Helper()
	program, memory := benchProgram(b, c, busyText), benchBuffer(b, c)
	groups := uint32(4096)
	if c.Info().Software() {
		groups = 4
	}
	var over atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for !over.Load() {
			_ = c.Do(func(gl *glctx.GL) error {
				gl.UseProgram(program)
				gl.BindStorage(0, memory)
				gl.Dispatch(groups, 1, 1)
				gl.Flush()
				return dispatchNow(gl, program, memory, groups)
			})
		}
	})
	return func() { over.Store(true); done.Wait() }
}
