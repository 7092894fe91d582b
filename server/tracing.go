//go:build linux

package server

import (
	"time"

	"github.com/shadercache/shadercache/trace"
)

// jobStep is a point in the life of a job.
type jobStep int

// The steps of a job, in their order.
const (
	jobReceived  jobStep = iota
	jobTaken             // by the goroutine that performs it
	jobChecked           // the executor's job is made
	jobGranted           // it is its turn
	jobSubmitted         // the executor has it
	jobDone              // on the GPU
	jobDelivered         // its outputs are copied
	jobReplied
	jobSteps
)

// stepNames are the names of the time before each step.
var stepNames = [jobSteps]string{
	jobTaken: trace.Queue, jobChecked: trace.Check, jobGranted: trace.Turn, jobSubmitted: trace.Accept,
	jobDone: trace.Run, jobDelivered: trace.Deliver, jobReplied: trace.Reply,
}

// jobTimes are the times of the steps of one job. It is nil where the server has no Tracer:
// then nothing looks at the clock.
type jobTimes struct {
	tracer trace.Tracer
	at     [jobSteps]time.Time
}

// newJobTimes returns the times of a job that has been received.
func newJobTimes(t trace.Tracer) *jobTimes {
	if t == nil {
		return nil
	}
	times := &jobTimes{tracer: t}
	times.mark(jobReceived)
	return times
}

// mark notes that a step is reached.
func (j *jobTimes) mark(step jobStep) {
	if j != nil {
		j.at[step] = time.Now()
	}
}

// report gives the tracer the events of a job that was answered. Steps that it has not
// reached, as by an error, have none.
func (j *jobTimes) report(r *running) {
	if j == nil {
		return
	}
	t, job := r.task, trace.NewTask()
	j.tracer.Event(trace.Event{
		Lane: trace.Server, Task: job, Name: trace.Serve, Program: t.program, Begin: j.at[jobReceived], Took: j.at[jobReplied].Sub(j.at[jobReceived]),
		Attrs: []trace.Attr{
			trace.String("client", t.s.client), trace.Int("session", int64(t.s.id)), trace.Int("request", int64(t.header.Request)),
			trace.Int("bytes_in", int64(r.in+r.placed.in)), trace.Int("bytes_out", int64(r.out+r.placed.out)), trace.Int("bytes_copied", int64(r.in+r.out)),
		},
	})
	begin := j.at[jobReceived]
	for step := jobTaken; step < jobSteps; step++ {
		if j.at[step].IsZero() {
			continue
		}
		j.tracer.Event(trace.Event{Lane: trace.Server, Task: job, Name: stepNames[step], Begin: begin, Took: j.at[step].Sub(begin)})
		begin = j.at[step]
	}
}
