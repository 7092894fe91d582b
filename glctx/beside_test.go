//go:build linux && cgo

package glctx_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// frameBudget is what a frame of the loops below gives to callbacks.
const frameBudget = 2 * time.Millisecond

// renderLoop is an adopted context whose owner polls once a frame.
type renderLoop struct {
	gpu    *shadercache.GPU
	beside *glctx.Beside   // where the GPU has none
	frames []time.Duration // what each frame lost to callbacks
	cpu    time.Duration   // the CPU time of that
}

// newRenderLoop adopts a context on this thread, with a cache of its own.
func newRenderLoop(t testing.TB, compileBeside bool) *renderLoop {
	t.Helper()
	if compileBeside {
		return openRenderLoop(t, t.TempDir(), "beside")
	}
	return openRenderLoop(t, t.TempDir(), "loop")
}

// openRenderLoop adopts a context on this thread: see BenchmarkFrames.
func openRenderLoop(t testing.TB, dir, how string) *renderLoop {
	t.Helper()
	adopted, err := glctx.Adopt(glctx.Options{DriverCacheOff: true}, nil)
	wantNoError(t, err)
	gpu, err := shadercache.New(adopted, shadercache.Options{Dir: dir, CompileBeside: how == "beside", NoExecutor: true})
	wantNoError(t, err)
	return &renderLoop{gpu: gpu}
}

func (l *renderLoop) close() error {
	err := l.gpu.Close()
	if l.beside != nil {
		err = errors.Join(err, l.beside.Close())
	}
	return err
}

// preload has the programs loaded by another goroutine, and renders frames of length
// until they are.
func (l *renderLoop) preload(t testing.TB, sources []*shader.Source, length time.Duration) (results []cache.PreloadResult) {
	t.Helper()
	l.renderWhile(t, length, func() (err error) {
		results, err = l.gpu.Cache.Preload(context.Background(), sources, nil)
		return err
	})
	return results
}

// renderWhile renders frames of length until work, on another goroutine, has ended.
func (l *renderLoop) renderWhile(t testing.TB, length time.Duration, work func() error) {
	t.Helper()
	done := make(chan error)
	go func() { done <- work() }()
	for {
		began, cpu := time.Now(), threadTime()
		l.gpu.Context.PollFor(frameBudget)
		l.frames = append(l.frames, time.Since(began))
		l.cpu += threadTime() - cpu
		select {
		case err := <-done:
			wantNoError(t, err)
			return
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
func framePrograms(n int) []*shader.Source { return saltedPrograms(n, newSalt()) }

func newSalt() string { return fmt.Sprint(time.Now().UnixNano() % 1e12) }

func saltedPrograms(n int, salt string) (list []*shader.Source) {
	text := `layout(local_size_x = 32) in;
layout(std430, binding = 3) buffer Data { float data[]; };
uniform float offset;
void main() {
	float x = data[gl_GlobalInvocationID.x], y = x;
` + strings.Repeat("	y = sin(y) * exp(-y * y) + SALT;\n", 8) + `	data[gl_GlobalInvocationID.x] = x * 2.0 + offset + (y == 12345.0 ? y : 0.0);
}
`
	for i := range n {
		list = append(list, shader.MustSource("frame", text, shader.Defines{"SALT": fmt.Sprintf("%d.%s", i, salt)}))
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
			if r.Err != nil || r.Origin != job.Compiled || r.CompileNanos == 0 {
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
	for _, origin := range []job.Origin{job.Compiled, job.Disk} {
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

// BenchmarkFrames makes 48 programs in the background of a loop of 60 frames a second, and
// prints what the frames lost, and what the loop's context took to load and to prime:
// median, 99th percentile, the longest, and the number of frames. The programs are
//
//	loop      compiled on the loop's thread
//	beside    compiled beside: Options.CompileBeside
//	process   compiled by another process, and loaded as soon as they are stored
//	stored    loaded, and nothing is compiled
func BenchmarkFrames(b *testing.B) {
	for _, how := range []string{"loop", "beside", "process", "stored"} {
		b.Run(how, func(b *testing.B) {
			glctx.OwnContext(b)
			var f frameTimes
			for range b.N {
				f.measure(b, how)
			}
			f.report(b)
		})
	}
}

// frameTimes are the times of all runs.
type frameTimes struct{ frames, loads, primes []time.Duration }

const frameSources = 48

func (f *frameTimes) measure(b *testing.B, how string) {
	salt := newSalt()
	sources := saltedPrograms(frameSources, salt)
	dir := b.TempDir()
	if how == "stored" {
		first := openRenderLoop(b, dir, "loop")
		first.preload(b, sources, 0)
		wantNoError(b, first.close())
	}
	l := openRenderLoop(b, dir, how)
	var results []cache.PreloadResult
	if how == "process" {
		results = l.loadStored(b, sources, salt, dir)
	} else {
		results = l.preload(b, sources, time.Second/60)
	}
	for _, r := range results {
		if r.Err != nil || (r.Origin == job.Disk) != (how == "stored" || how == "process") {
			b.Errorf("%+v", r)
		}
		f.loads = append(f.loads, time.Duration(r.LoadNanos))
		f.primes = append(f.primes, time.Duration(r.PrimeNanos))
	}
	f.frames = append(f.frames, l.frames...)
	wantNoError(b, l.close())
}

func (f *frameTimes) report(b *testing.B) {
	for what, all := range map[string][]time.Duration{"frame": f.frames, "load": f.loads, "prime": f.primes} {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2].Seconds()*1e3, what+"-p50-ms")
		b.ReportMetric(all[len(all)*99/100].Seconds()*1e3, what+"-p99-ms")
	}
	b.ReportMetric(f.frames[len(f.frames)-1].Seconds()*1e3, "frame-max-ms")
	b.ReportMetric(float64(len(f.frames))/float64(b.N), "frames/op")
}

// frameChild makes this executable a process that compiles into a directory: the salt of
// the programs and the directory.
const frameChild = "GLCTX_TEST_FRAME_CHILD"

// TestFrameChild compiles what loadStored loads, and prints a line for each program that
// is stored.
func TestFrameChild(t *testing.T) {
	salt, dir, set := strings.Cut(os.Getenv(frameChild), " ")
	if !set {
		return
	}
	glctx.ManageDriverCache(glctx.Options{}) // where the loop's driver has it
	c, err := glctx.Open(glctx.Options{DriverCacheOff: true})
	wantNoError(t, err)
	programs, err := cache.New(c, cache.Options{Dir: dir})
	wantNoError(t, err)
	for i, source := range saltedPrograms(frameSources, salt) {
		h, err := programs.Get(t.Context(), source)
		wantNoError(t, err)
		h.Release()
		programs.WaitStored()
		drivercache.Flush()
		fmt.Printf("stored %d\n", i)
	}
	wantNoError(t, programs.Close())
	wantNoError(t, c.Close())
}

// loadStored starts a process that compiles the programs, and renders frames until all
// are loaded.
func (l *renderLoop) loadStored(b *testing.B, sources []*shader.Source, salt, dir string) (results []cache.PreloadResult) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestFrameChild$")
	cmd.Env = append(os.Environ(), frameChild+"="+salt+" "+dir)
	out, err := cmd.StdoutPipe()
	wantNoError(b, err)
	wantNoError(b, cmd.Start())
	l.renderWhile(b, time.Second/60, func() error {
		lines := bufio.NewScanner(out)
		for next := 0; lines.Scan(); {
			if lines.Text() == fmt.Sprintf("stored %d", next) {
				r, err := l.gpu.Cache.Preload(context.Background(), sources[next:next+1], nil)
				if err != nil {
					return err
				}
				results, next = append(results, r...), next+1
			}
		}
		return cmd.Wait()
	})
	if len(results) != len(sources) {
		b.Fatalf("%d programs of %d were stored", len(results), len(sources))
	}
	return results
}
