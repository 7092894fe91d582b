//go:build linux

package executor

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// pacedGPU simulates a GPU that takes the same time for every stage: its fences are
// signalled at the end of that time.
type pacedGPU struct {
	stage    time.Duration
	pipeline *pipeline
	began    time.Duration // begin of the running stage
	ends     time.Duration // end of the running stage

	mu        sync.Mutex
	completed time.Duration // end of the stage that was found complete last
}

// lateness returns the time since the end of the stage that was found complete last.
func (g *pacedGPU) lateness() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pipeline.now() - g.completed
}

func (g *pacedGPU) pollFence(gl *glctx.GL, f glctx.Fence) (bool, error) {
	// Fences are polled in order, but their names are reused.
	for i := range g.pipeline.stages {
		if s := &g.pipeline.stages[i]; s.fence == f && s.began > g.began {
			g.began, g.ends = s.began, max(g.ends, s.began)+g.stage
			break
		}
	}
	if g.pipeline.now() < g.ends {
		return false, nil
	}
	g.mu.Lock()
	g.completed = g.ends
	g.mu.Unlock()
	return gl.WaitFence(f, 0)
}

// TestPumpSleepsDuringLongStages counts polls while stages take 1 ms: a pump that
// spins polls a thousand times in that time.
func TestPumpSleepsDuringLongStages(t *testing.T) {
	for _, o := range []Options{{Depth: 1}, {Depth: 3}, {Depth: 8}, {Depth: 8, MaxDelay: 3 * time.Millisecond}} {
		g := &pacedGPU{stage: time.Millisecond}
		o.SlotJobs, o.test = 1, testOptions{pollFence: g.pollFence, poison: true}
		f := newFixture(t, o)
		g.pipeline = &f.pipeline
		h := f.affine()
		const warm, jobs = 30, 150
		var before Stats
		var tasks []*task
		for i := range warm + jobs {
			if i == warm {
				before = f.Stats()
			}
			if len(tasks) == o.Depth {
				f.finish(tasks[0])
				tasks = tasks[1:]
			}
			k := newTask(h, uint32(i), 1+i)
			k.pending = f.submit(k.job)
			tasks = append(tasks, k)
		}
		for _, k := range tasks {
			f.finish(k)
		}
		after := f.Stats()
		if n := after.Polls - before.Polls; n > 50*jobs {
			t.Errorf("depth %d, delay %v: %d polls for %d stages", o.Depth, o.MaxDelay, n, jobs)
		}
		if after.Sleeps == before.Sleeps || after.Timeouts != 0 {
			t.Errorf("before %+v, after %+v", before, after)
		}
	}
}

// BenchmarkPacedKernels measures wall time and CPU time of the process for each job,
// on a simulated GPU with kernels of one length. Dispatches of one group and
// one word cost almost nothing, so that any driver serves.
func BenchmarkPacedKernels(b *testing.B) {
	for _, paced := range []struct {
		stage time.Duration
		o     Options
	}{
		{10 * time.Microsecond, Options{Depth: 1}},
		{10 * time.Microsecond, Options{Depth: 1, test: testOptions{spin: true}}},
		{time.Millisecond, Options{Depth: 1}},
		{time.Millisecond, Options{Depth: 3}},
		{time.Millisecond, Options{Depth: 8}},
		{time.Millisecond, Options{Depth: 8, MaxDelay: 3 * time.Millisecond}},
		{time.Millisecond, Options{Depth: 16, MaxDelay: 6 * time.Millisecond}},
	} {
		o := paced.o
		name := fmt.Sprintf("%v/depth=%d/delay=%v/spin=%v", paced.stage, o.Depth, o.MaxDelay, o.test.spin)
		b.Run(name, func(b *testing.B) { benchmarkPaced(b, paced.stage, o) })
	}
}

func benchmarkPaced(b *testing.B, stage time.Duration, o Options) {
	g := &pacedGPU{stage: stage}
	o.SlotJobs, o.test.pollFence = 1, g.pollFence
	f := newFixture(b, o)
	g.pipeline = &f.pipeline
	job := newTask(f.affine(), 1, 1).job
	pending := make([]Pending, o.Depth)
	var late []time.Duration
	turn := func(n int) {
		late = make([]time.Duration, 0, n)
		for i := range n + o.Depth {
			p := &pending[i%o.Depth]
			if p.batch != nil {
				f.wait(p)
				late = append(late, g.lateness())
			}
			if i < n {
				if err := f.SubmitInto(b.Context(), &job, p); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	turn(100)
	before, usage := f.Stats(), processUsage(b)
	b.ResetTimer()
	turn(b.N)
	b.StopTimer()
	used, after, jobs := processUsage(b), f.Stats(), float64(b.N)
	slices.Sort(late)
	b.ReportMetric(float64((cpuTime(used)-cpuTime(usage)).Microseconds())/jobs, "cpu-us/job")
	b.ReportMetric(float64(used.Nvcsw-usage.Nvcsw)/jobs, "switches/job")
	b.ReportMetric(float64(late[len(late)/2].Microseconds()), "late-us-p50")
	b.ReportMetric(float64(after.Polls-before.Polls)/jobs, "polls/job")
	b.ReportMetric(float64(after.Sleeps-before.Sleeps)/jobs, "sleeps/job")
}

// processUsage returns the CPU time and the context switches of this process.
func processUsage(t testing.TB) (usage syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return usage
}

func cpuTime(usage syscall.Rusage) time.Duration {
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Submit wakes the GL thread unless the GPU has a long stage behind the one that runs: the
// next poll comes in time then.
func TestSubmitLeavesLongWorkToThePoll(t *testing.T) {
	g := newGatedFence()
	f := newFixture(t, Options{Depth: 4, SlotJobs: 1, test: testOptions{pollFence: g.pollFence}})
	h := f.affine()
	var tasks []*task
	submit := func() {
		k := newTask(h, uint32(len(tasks)), 30)
		k.pending = f.submit(k.job)
		tasks = append(tasks, k)
	}
	wakes := func(behind estimate) (wakes bool) {
		t.Helper()
		for f.Stats().Stages < uint64(len(tasks)) { // the stage that nextStage returns below would be lost
			_ = f.context.Do(func(*glctx.GL) error { return nil })
		}
		err := f.context.Do(func(*glctx.GL) error {
			p := &f.pipeline
			if len(p.stages) > 1 {
				*p.estimates.of(&p.stages[1]) = behind
			}
			if _, ok := p.nextStage(); ok {
				t.Error("there is a stage to start")
			}
			wakes = f.submitWakesPump.Load()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return wakes
	}
	long := estimate{duration: maxSpinStage, measured: true}
	submit()
	if !wakes(long) {
		t.Error("Submit does not wake the GL thread with one stage on the GPU")
	}
	submit()
	for behind, want := range map[estimate]bool{
		long:                     false,
		{duration: maxSpinStage}: true, // a guess
		{duration: maxSpinStage - 1, measured: true}: true,
	} {
		if got := wakes(behind); got != want {
			t.Errorf("with %+v behind, Submit wakes the GL thread: %v", behind, got)
		}
	}
	wakes(long)
	submit() // it waits for the poll
	close(g.open)
	for _, k := range tasks {
		f.finish(k)
	}
}

// A job does not wait for the callbacks that others have queued on the GL thread, such as
// buffers that a server's sessions make: it begins before them, and its end is seen between
// two of them.
func TestJobsPassQueuedCallbacks(t *testing.T) {
	f := newFixture(t, Options{})
	h := f.affine()
	first := newTask(h, 1, 64)
	first.pending = f.submit(first.job)
	f.finish(first)
	const others = 100
	queued := make(chan struct{})
	var ran atomic.Int32
	f.context.Post(func(*glctx.GL) { <-queued })
	for range others {
		f.context.Post(func(*glctx.GL) { time.Sleep(2 * time.Millisecond); ran.Add(1) })
	}
	k := newTask(h, 2, 64)
	k.pending = f.submit(k.job)
	close(queued)
	f.finish(k)
	if n := ran.Load(); n > others/2 {
		t.Errorf("the job was done after %d of %d callbacks that others had queued", n, others)
	}
}
