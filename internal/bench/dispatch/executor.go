package dispatch

import (
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/internal/bench/stats"
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
	jobs := make([]executor.Job, len(counts))
	for i := range counts {
		if counts[i], err = executor.BufferOf(e, make([]uint32, 4)); err != nil {
			return err
		}
		defer counts[i].Release()
		jobs[i].Dispatch = executor.Dispatch{
			Program: r.programs[0], Groups: [3]uint32{1, 1, 1}, Memory: []executor.Bound{counts[i].Bind(0)},
		}
	}
	pending := make([]executor.Pending, window)
	var submits []time.Duration
	times, err := r.rounds(func() (each float64, err error) {
		submits = submits[:0] // the last round counts: caches are warm then
		submits, each, err = r.jobRound(e, jobs, pending, submits)
		return each, err
	})
	if err != nil {
		return err
	}
	if depth == 1 {
		r.result.RoundTripMicros = r.keep("round_trip", times)
	} else {
		r.result.PipelinedMicros, r.result.SubmitMicros = r.keep("pipelined", times), stats.Micros(stats.NewLatencies(submits).Median)
	}
	return r.verifyCounts(counts)
}

// jobRound runs a round's share of jobs. It appends the time of each Submit to submits,
// and returns the microseconds of a job.
func (r *run) jobRound(e *executor.Executor, jobs []executor.Job, pending []executor.Pending, submits []time.Duration) ([]time.Duration, float64, error) {
	start := time.Now()
	for i := range r.share() + len(pending) {
		p := &pending[i%len(pending)]
		if i >= len(pending) {
			if err := p.Wait(r.ctx); err != nil {
				return nil, 0, err
			}
		}
		if i >= r.share() {
			continue
		}
		began := time.Now()
		if err := e.SubmitInto(r.ctx, jobs[i%len(jobs)], p); err != nil {
			return nil, 0, err
		}
		submits = append(submits, time.Since(began))
	}
	return submits, perCall(time.Since(start), r.share()), nil
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
