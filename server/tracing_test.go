//go:build linux

package server_test

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/trace"
)

// TestJobsAreTraced runs jobs by the socket and by a ring: the steps of each follow one
// another from its receipt to its reply, and it names its program, client and bytes.
func TestJobsAreTraced(t *testing.T) {
	recorder := trace.NewRecorder(0)
	f := serve(t, server.Options{Tracer: recorder})
	for i, size := range []int{0, 64 << 10} {
		c := f.dialWith(client.Options{Ring: size})
		if err := run(t.Context(), c, program(t, c, affine), 1024, uint32(i), 4); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	const events = 8 // of a job
	eventually(t, "two jobs are traced", func() bool {
		n := 0
		for _, steps := range jobsOf(recorder) {
			n += len(steps)
		}
		return n == 2*events
	})
	for _, steps := range jobsOf(recorder) {
		job := steps[0]
		if job.Name != trace.Serve || job.Program != "affine" || job.Attr("client") != t.Name() || job.Attr("bytes_in") != int64(4096) || job.Attr("bytes_out") != int64(4096) {
			t.Errorf("the job: %+v", job)
		}
		want := []string{trace.Queue, trace.Check, trace.Turn, trace.Accept, trace.Run, trace.Deliver, trace.Reply}
		if len(steps) != events {
			t.Fatalf("the steps: %+v", steps)
		}
		sum, at := time.Duration(0), job.Begin
		for i, step := range steps[1:] {
			if step.Name != want[i] || !step.Begin.Equal(at) || step.Took < 0 {
				t.Errorf("step %d is %+v, want %s at %v", i, step, want[i], at)
			}
			sum, at = sum+step.Took, step.End()
		}
		if sum != job.Took {
			t.Errorf("the steps take %v of %v", sum, job.Took)
		}
	}
}

// jobsOf returns the events of each job, in their order.
func jobsOf(r *trace.Recorder) map[uint64][]trace.Event {
	jobs := map[uint64][]trace.Event{}
	for _, e := range r.Recording().Events {
		if e.Lane == trace.Server {
			jobs[e.Task] = append(jobs[e.Task], e)
		}
	}
	return jobs
}
