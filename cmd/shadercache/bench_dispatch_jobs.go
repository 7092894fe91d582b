package main

import (
	"time"

	"github.com/shadercache/shadercache/executor"
)

// measureExecutor measures jobs, which count in memory that stays.
func (b *dispatchBench) measureExecutor() error {
	for _, depth := range []int{1, 3} {
		if err := b.jobs(depth); err != nil {
			return err
		}
	}
	return nil
}

// jobs runs jobs through an executor, round after round, with as many pending as it
// takes, and checks their count.
func (b *dispatchBench) jobs(depth int) (err error) {
	e, err := executor.New(b.gpu.Context, b.gpu.Cache, executor.Options{Depth: depth, SlotBytes: 4096})
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
	// Each job in flight has a count of its own: a shared one would put a barrier
	// between them.
	counts := make([]*executor.Buffer[uint32], min(window, 64))
	jobs := make([]executor.Job, len(counts))
	for i := range counts {
		if counts[i], err = executor.BufferOf(e, make([]uint32, 4)); err != nil {
			return err
		}
		defer counts[i].Release()
		jobs[i].Dispatch = executor.Dispatch{
			Program: b.programs[0], Groups: [3]uint32{1, 1, 1}, Memory: []executor.Bound{counts[i].Bind(0)},
		}
	}
	pending := make([]executor.Pending, window)
	var submits []time.Duration
	rounds, err := b.rounds(func() (each float64, err error) {
		submits = submits[:0] // the last round counts, when all is warm
		submits, each, err = b.jobRound(e, jobs, pending, submits)
		return each, err
	})
	if err != nil {
		return err
	}
	if depth == 1 {
		b.result.RoundTripMicros = b.keep("round_trip", rounds)
	} else {
		b.result.PipelinedMicros, b.result.SubmitMicros = b.keep("pipelined", rounds), medianMicros(submits)
	}
	return b.verifyCounts(counts)
}

// jobRound runs a round's share of jobs, and appends what each Submit took.
func (b *dispatchBench) jobRound(e *executor.Executor, jobs []executor.Job, pending []executor.Pending, submits []time.Duration) ([]time.Duration, float64, error) {
	start := time.Now()
	for i := range b.share() + len(pending) {
		p := &pending[i%len(pending)]
		if i >= len(pending) {
			if err := p.Wait(b.ctx); err != nil {
				return nil, 0, err
			}
		}
		if i >= b.share() {
			continue
		}
		began := time.Now()
		if err := e.SubmitInto(b.ctx, jobs[i%len(jobs)], p); err != nil {
			return nil, 0, err
		}
		submits = append(submits, time.Since(began))
	}
	return submits, perCall(time.Since(start), b.share()), nil
}

func (b *dispatchBench) verifyCounts(counts []*executor.Buffer[uint32]) error {
	total := uint32(0)
	for _, count := range counts {
		var got [1]uint32
		if err := count.Download(b.ctx, 0, got[:]); err != nil {
			return err
		}
		total += got[0]
	}
	b.result.Verified = b.result.Verified && total == uint32(dispatchRounds*b.share())
	return nil
}
