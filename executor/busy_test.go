//go:build linux

package executor

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// pacedGPU takes the same time for every stage, one after the other:
// its fences are reached when that time is over, and nothing computes meanwhile.
type pacedGPU struct {
	stage    time.Duration
	pipeline *pipeline
	began    time.Duration // of the stage that is at work
	ends     time.Duration // likewise
}

func (g *pacedGPU) fence(gl *glctx.GL, f glctx.Fence) (bool, error) {
	// Fences are looked at in order, but their names are used again.
	for i := range g.pipeline.stages {
		if s := &g.pipeline.stages[i]; s.fence == f && s.began > g.began {
			g.began, g.ends = s.began, max(g.ends, s.began)+g.stage
			break
		}
	}
	if g.pipeline.now() < g.ends {
		return false, nil
	}
	return gl.WaitFence(f, 0)
}

// BenchmarkPacedKernels measures wall and CPU time of the whole process, a job,
// while the GPU is busy with kernels of one length. Here no GPU is: fences pace
// the jobs, and dispatches without groups cost next to nothing.
func BenchmarkPacedKernels(b *testing.B) {
	for _, paced := range []struct {
		stage time.Duration
		o     Options
	}{
		{10 * time.Microsecond, Options{Depth: 1}},
		{10 * time.Microsecond, Options{Depth: 1, trial: trial{linger: true}}},
		{time.Millisecond, Options{Depth: 1}},
		{time.Millisecond, Options{Depth: 3}},
		{time.Millisecond, Options{Depth: 8}},
		{time.Millisecond, Options{Depth: 8, MaxDelay: 3 * time.Millisecond}},
	} {
		o := paced.o
		name := fmt.Sprintf("%v/depth=%d/delay=%v/linger=%v", paced.stage, o.Depth, o.MaxDelay, o.trial.linger)
		b.Run(name, func(b *testing.B) { benchmarkPaced(b, paced.stage, o) })
	}
}

func benchmarkPaced(b *testing.B, stage time.Duration, o Options) {
	g := &pacedGPU{stage: stage}
	o.SlotJobs, o.trial.fences = 1, g.fence
	f := newFixture(b, o)
	g.pipeline = &f.gpu
	job := newTask(f.affine(), 1, 1).job
	job.Groups[0] = 0
	pending := make([]Pending, o.Depth)
	turn := func(n int) {
		for i := range n + o.Depth {
			p := &pending[i%o.Depth]
			if p.batch != nil {
				f.wait(p)
			}
			if i < n {
				if err := f.SubmitInto(b.Context(), job, p); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	turn(100)
	before, cpu := f.Stats(), cpuTime(b)
	b.ResetTimer()
	turn(b.N)
	b.StopTimer()
	after, jobs := f.Stats(), float64(b.N)
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/jobs, "cpu-us/job")
	b.ReportMetric(float64(after.Looks-before.Looks)/jobs, "looks/job")
	b.ReportMetric(float64(after.Sleeps-before.Sleeps)/jobs, "sleeps/job")
}

// cpuTime is the CPU time that this process has used.
func cpuTime(t testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
