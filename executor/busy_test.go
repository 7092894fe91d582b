//go:build linux

package executor

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// paced is a GPU that takes the same time for every stage, one after the other:
// its fences are reached when that time is over, and nothing computes meanwhile.
type paced struct {
	stage    time.Duration
	pipeline *pipeline
	began    time.Duration // of the stage that is at work
	ends     time.Duration // likewise
}

func (g *paced) fence(gl *glctx.GL, f glctx.Fence) (bool, error) {
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

// BenchmarkLongKernels measures the CPU time of the whole process, a job, while
// the GPU is busy with kernels of 1 ms. Here no GPU is: fences pace the jobs.
func BenchmarkLongKernels(b *testing.B) {
	for _, o := range []Options{{Depth: 1}, {Depth: 2}, {Depth: 3}, {Depth: 8}, {Depth: 8, MaxDelay: 2 * time.Millisecond}, {Depth: 8, MaxDelay: 4 * time.Millisecond}} {
		b.Run(fmt.Sprintf("depth=%d/delay=%v", o.Depth, o.MaxDelay), func(b *testing.B) {
			g := &paced{stage: time.Millisecond}
			o.SlotJobs, o.trial.fences = 1, g.fence
			f := newFixture(b, o)
			g.pipeline = &f.gpu
			k := newTask(f.affine(), 1, 1)
			job := k.job
			job.Groups[0] = 0
			job.Inputs = []Input{{Binding: 0, Data: make([]byte, 16)}}
			depth := o.Depth
			pending := make([]Pending, depth)
			turn := func(n int) {
				for i := range n + depth {
					p := &pending[i%depth]
					if p.batch != nil {
						if err := p.Wait(b.Context()); err != nil {
							b.Fatal(err)
						}
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
			after := f.Stats()
			jobs := float64(b.N)
			b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/jobs, "cpu-us/job")
			b.ReportMetric(float64(after.Looks-before.Looks)/jobs, "looks/job")
			b.ReportMetric(float64(after.Sleeps-before.Sleeps)/jobs, "sleeps/job")
		})
	}
}

// cpuTime is the CPU time that this process has used.
func cpuTime(t testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
