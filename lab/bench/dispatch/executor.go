package dispatch

import (
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// measureExecutor measures jobs that count in buffers, one at a time and many pending.
func (r *run) measureExecutor() error {
	for _, depth := range []int{1, 3} {
		if err := r.jobs(depth); err != nil {
			return err
		}
	}
	return nil
}

// jobs runs jobs in rounds through an executor, with as many pending as it takes, and
// checks their count.
func (r *run) jobs(depth int) (err error) {
	e, err := executor.New(r.gpu.Context, r.gpu.Cache, executor.Options{Depth: depth, SlotBytes: 4096})
	if err != nil {
		return err
	}
	defer func() {
		if failed := e.Close(); err == nil {
			err = failed
		}
	}()
	window := 1
	if depth > 1 {
		window = (depth - 1) * 256
	}
	// Each pending job has a counter of its own: a shared one would need a barrier
	// between them.
	counts := make([]*executor.Buffer[uint32], min(window, 64))
	jobs := make([]job.Job, len(counts))
	for i := range counts {
		if counts[i], err = executor.BufferOf(e, make([]uint32, 4)); err != nil {
			return err
		}
		defer counts[i].Release()
		jobs[i].Dispatch = job.Dispatch{
			Program: r.programs[0], Groups: [3]uint32{1, 1, 1}, Buffers: []job.Bound{counts[i].Bind(0)},
		}
	}
	j := jobTimes{pending: make([]executor.Pending, window), began: make([]time.Time, window)}
	times, err := r.rounds(func() (float64, error) { return r.jobRound(e, jobs, &j) })
	if err != nil {
		return err
	}
	if depth == 1 {
		r.result.RoundTripMicros, r.result.RoundTripP99 = r.keep("round_trip", times), measure.Micros(measure.NewLatencies(j.waits).P99)
	} else {
		r.result.PipelinedMicros, r.result.SubmitMicros = r.keep("pipelined", times), measure.Micros(measure.NewLatencies(j.submits).Median)
	}
	return r.verifyCounts(counts)
}

// jobTimes are the times of the jobs of a round, and what is pending of it.
type jobTimes struct {
	pending []executor.Pending
	began   []time.Time     // the Submit of each pending job
	submits []time.Duration // of the last round: caches are warm then
	waits   []time.Duration // from a job's Submit until its Wait has returned, of all rounds
}

// jobRound runs a round's share of jobs and returns the microseconds of one.
func (r *run) jobRound(e *executor.Executor, jobs []job.Job, j *jobTimes) (float64, error) {
	j.submits = j.submits[:0]
	start := time.Now()
	for i := range r.share() + len(j.pending) {
		at := i % len(j.pending)
		if i >= len(j.pending) {
			if err := j.pending[at].Wait(r.ctx); err != nil {
				return 0, err
			}
			j.waits = append(j.waits, time.Since(j.began[at]))
		}
		if i >= r.share() {
			continue
		}
		j.began[at] = time.Now()
		if err := e.SubmitInto(r.ctx, &jobs[i%len(jobs)], &j.pending[at]); err != nil {
			return 0, err
		}
		j.submits = append(j.submits, time.Since(j.began[at]))
	}
	return perCall(time.Since(start), r.share()), nil
}

// verifyCounts compares the sum of all counters with the number of jobs.
func (r *run) verifyCounts(counts []*executor.Buffer[uint32]) error {
	total := uint32(0)
	for _, count := range counts {
		var got [1]uint32
		if err := count.Download(r.ctx, 0, got[:]); err != nil {
			return err
		}
		total += got[0]
	}
	r.result.Verified = r.result.Verified && total == uint32(rounds*r.share())
	return nil
}
