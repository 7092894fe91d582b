//go:build linux

package glctx_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// frameBudget is what a frame of the loops below gives to callbacks.
const frameBudget = 2 * time.Millisecond

// renderLoop is an adopted context whose owner polls once a frame.
type renderLoop struct {
	gpu    *shadercache.GPU
	frames []time.Duration // what each frame lost to callbacks
	cpu    time.Duration   // the CPU time of that
}

// newRenderLoop adopts a context on this thread, with a cache of its own.
func newRenderLoop(t testing.TB, compileBeside bool) *renderLoop {
	t.Helper()
	adopted, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
	wantNoError(t, err)
	gpu, err := shadercache.New(adopted, shadercache.Options{Dir: t.TempDir(), CompileBeside: compileBeside, NoExecutor: true})
	wantNoError(t, err)
	return &renderLoop{gpu: gpu}
}

// preload has the programs loaded by another goroutine, and renders frames of length
// until they are.
func (l *renderLoop) preload(t testing.TB, sources []*shader.Source, length time.Duration) []cache.PreloadResult {
	t.Helper()
	var results []cache.PreloadResult
	done := make(chan error)
	go func() {
		var err error
		results, err = l.gpu.Cache.Preload(context.Background(), sources, nil)
		done <- err
	}()
	for {
		began, cpu := time.Now(), threadTime()
		l.gpu.Context.PollFor(frameBudget)
		l.frames = append(l.frames, time.Since(began))
		l.cpu += threadTime() - cpu
		select {
		case err := <-done:
			wantNoError(t, err)
			return results
		case <-time.After(length - time.Since(began)):
		}
	}
}

// threadTime returns the CPU time of this thread.
func threadTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// framePrograms returns n doublers that no driver's cache has, and whose machine code
// takes tens of milliseconds. What the salt adds is nothing, which no compiler can know.
func framePrograms(n int) (list []*shader.Source) {
	text := `layout(local_size_x = 32) in;
layout(std430, binding = 3) buffer Data { float data[]; };
uniform float offset;
void main() {
	float x = data[gl_GlobalInvocationID.x], y = x;
` + strings.Repeat("	y = sin(y) * exp(-y * y) + SALT;\n", 8) + `	data[gl_GlobalInvocationID.x] = x * 2.0 + offset + (y == 12345.0 ? y : 0.0);
}
`
	salt := time.Now().UnixNano() % 1e12
	for i := range n {
		list = append(list, shader.MustSource("frame", text, shader.Defines{"SALT": fmt.Sprintf("%d.%d", i, salt)}))
	}
	return list
}

// With programs compiled beside, the context of a render loop compiles none of them. The
// time that this saves its frames is in BenchmarkFrames.
func TestCompileBesideKeepsFrames(t *testing.T) {
	glctx.OwnContext(t)
	const programs = 6
	var cpu [2]time.Duration
	for i, compileBeside := range []bool{false, true} {
		l := newRenderLoop(t, compileBeside)
		sources := framePrograms(programs)
		for _, r := range l.preload(t, sources, time.Millisecond) {
			if r.Err != nil || r.Origin != cache.Compiled || r.CompileNanos == 0 {
				t.Errorf("compile beside %v: %+v", compileBeside, r)
			}
		}
		cpu[i] = l.cpu
		h, err := l.gpu.Cache.Get(t.Context(), sources[0])
		wantNoError(t, err)
		wantTimes(t, run(t, l.gpu.Context, h.Program()), 2)
		h.Release()
		n := l.gpu.Context.Counters()
		wantNoError(t, l.gpu.Cache.Flush())
		if s := l.gpu.Cache.Stats(); s.Compiles != programs || s.Stored != programs || s.StoreFailures != 0 {
			t.Errorf("compile beside %v: %+v", compileBeside, s)
		}
		wantNoError(t, l.gpu.Close())
		if compileBeside && (n.Compiles != 0 || n.BinaryLoads != programs) || !compileBeside && n.Compiles != programs {
			t.Errorf("compile beside %v: the caller's context did %+v", compileBeside, n)
		}
		if n := l.gpu.Context.Counters(); n.Programs != 0 {
			t.Errorf("compile beside %v: %d programs were left", compileBeside, n.Programs)
		}
	}
	t.Logf("CPU time of the thread for %d programs: %v, and %v with programs compiled beside", programs, cpu[0], cpu[1])
}

// What was compiled beside is stored: the next start loads it. Errors are those of the
// caller's context.
func TestCompileBesideStoresAndFails(t *testing.T) {
	glctx.OwnContext(t)
	dir := t.TempDir()
	source := framePrograms(1)[0]
	for _, origin := range []cache.Origin{cache.Compiled, cache.Disk} {
		adopted, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
		wantNoError(t, err)
		gpu, err := shadercache.New(adopted, shadercache.Options{Dir: dir, CompileBeside: true, NoExecutor: true})
		wantNoError(t, err)
		h, err := gpu.Cache.Get(t.Context(), source) // on the context's thread
		wantNoError(t, err)
		if h.Origin() != origin {
			t.Errorf("origin %v, want %v", h.Origin(), origin)
		}
		wantTimes(t, run(t, gpu.Context, h.Program()), 2)
		h.Release()
		_, err = gpu.Cache.Get(t.Context(), shader.MustSource("broken", "layout(local_size_x = 1) in; void main() { x = 1; }", nil))
		if !errors.As(err, new(*shader.CompileError)) {
			t.Errorf("got %v, want a *shader.CompileError", err)
		}
		wantNoError(t, gpu.Close())
	}
}

// Callbacks that do not fit into a frame wait for the next, in order.
func TestPollForHasABudget(t *testing.T) {
	glctx.OwnContext(t)
	c, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
	wantNoError(t, err)
	defer c.Close()
	var ran []int
	for i := range 3 {
		c.Post(func(*glctx.GL) { ran = append(ran, i); time.Sleep(2 * time.Millisecond) })
	}
	if n := c.PollFor(time.Millisecond); n != 1 {
		t.Errorf("%d callbacks in a budget for one", n)
	}
	select {
	case <-c.Pending():
	default:
		t.Error("callbacks are left, and Pending does not receive")
	}
	c.Post(func(*glctx.GL) { ran = append(ran, 3) })
	if n := c.PollFor(time.Hour); n != 3 || !slices.Equal(ran, []int{0, 1, 2, 3}) {
		t.Errorf("%d callbacks in a large budget, order %v", n, ran)
	}
	for range 2 {
		c.Post(func(*glctx.GL) { time.Sleep(2 * time.Millisecond) })
	}
	if n := c.PollFor(3 * time.Millisecond); n != 1 {
		t.Errorf("%d callbacks of 2 ms in a budget of 3 ms", n)
	}
}

// BenchmarkFrames preloads 48 programs in the background of a loop of 60 frames a second
// and prints what the frames lost: the 99th percentile, the longest, and their number.
func BenchmarkFrames(b *testing.B) {
	for _, compileBeside := range []bool{false, true} {
		b.Run(fmt.Sprintf("beside=%v", compileBeside), func(b *testing.B) {
			glctx.OwnContext(b)
			var lost, loads, primes []time.Duration
			for range b.N {
				l := newRenderLoop(b, compileBeside)
				for _, r := range l.preload(b, framePrograms(48), time.Second/60) {
					loads = append(loads, time.Duration(r.LoadNanos))
					primes = append(primes, time.Duration(r.PrimeNanos))
				}
				lost = append(lost, l.frames...)
				wantNoError(b, l.gpu.Close())
			}
			for what, all := range map[string][]time.Duration{"frame": lost, "load": loads, "prime": primes} {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2].Seconds()*1e3, what+"-p50-ms")
				b.ReportMetric(all[len(all)*99/100].Seconds()*1e3, what+"-p99-ms")
			}
			b.ReportMetric(lost[len(lost)-1].Seconds()*1e3, "frame-max-ms")
			b.ReportMetric(float64(len(lost))/float64(b.N), "frames/op")
		})
	}
}
