//go:build linux

package tune

import (
	"slices"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

const (
	// A candidate slower than slowFactor times the best is not measured in full.
	slowFactor = 2.5

	// From firstNanos on, the first run is enough for a candidate that is twice as far
	// behind: the overhead of a first run is small beside it.
	firstNanos = 5e7

	// A GPU that has just waited for the CPU is up to asleepFactor times slower,
	// because it lowers its clock. An NVIDIA H200 took some 100 ms of work to come
	// back from 345 to 1980 MHz, and less after a short wait.
	asleepFactor = 6
	wakeTime     = 150 * time.Millisecond
	napTime      = 20 * time.Millisecond

	// The clock rises in steps that may last longer than a measurement. So another
	// measurement follows settleTime of work later, until it is not faster any more.
	settleTime = 100 * time.Millisecond
	settled    = 0.97
	mostRounds = 8

	wakeNanos = 3e7 // of work before a calibration

	// A figure is the median of batches, each of about batchNanos, and of at most
	// batchRuns runs.
	batches        = 7
	batchNanos     = 4e6
	batchRuns      = 1000
	longBatchNanos = 2e8 // from here on, fewer batches
	longBatches    = 3

	// A comparison takes some batches of two runs in turn.
	comparisons     = 5
	comparisonNanos = 2e6
	compareAfter    = 5 * time.Millisecond
)

// time returns the nanoseconds of one run. Where that is far behind best, it is the
// time of a single run, and whole is false.
func (r *benchRun) time(best float64) (nanos float64, whole bool, err error) {
	clock := &r.bench.clock
	if best > 0 && r.FirstNanos > firstNanos && r.FirstNanos > 2*slowFactor*best {
		return r.FirstNanos, false, nil
	}
	if err := clock.calibrate(r.GL, r.repeat); err != nil {
		return 0, false, err
	}
	once, err := clock.time(r.GL, func() { r.repeat(1) })
	if err != nil || best > 0 && once > slowFactor*asleepFactor*best {
		return once, false, err
	}
	runs := func(nanos float64) int { return int(min(max(nanos/once, 1), batchRuns)) }
	count := batches
	if once > longBatchNanos {
		count = longBatches
	} else if err := r.wake(runs(batchNanos), min(wakeTime, napTime+4*r.waited)); err != nil {
		return 0, false, err
	}
	nanos, err = r.settle(count, runs(batchNanos), once, best)
	return nanos, best == 0 || nanos <= slowFactor*best, err
}

// compare returns the nanoseconds of one run, from a comparison with another one that takes
// leaderNanos. Batches of both are timed in turn, so that the GPU's clock and other load are
// the same for both, and its clock need not rise first.
func (r *benchRun) compare(leader *benchRun, leaderNanos float64) (nanos float64, whole bool, err error) {
	clock := &r.bench.clock
	once, err := clock.time(r.GL, func() { r.repeat(1) })
	if err != nil || once > slowFactor*asleepFactor*leaderNanos {
		return once, false, err
	}
	runs := func(nanos float64) int { return int(min(max(comparisonNanos/nanos, 1), batchRuns)) }
	own, others := runs(once), runs(leaderNanos)
	if err := r.wake(own, min(wakeTime, compareAfter+4*r.waited)); err != nil {
		return 0, false, err
	}
	ratios, leaders := make([]float64, comparisons), make([]float64, comparisons)
	for i := range ratios {
		before, err := clock.time(r.GL, func() { leader.repeat(others) })
		if err != nil {
			return 0, false, err
		}
		after, err := clock.time(r.GL, func() { r.repeat(own) })
		if err != nil {
			return 0, false, err
		}
		leaders[i] = before / float64(others)
		ratios[i] = after / float64(own) / leaders[i]
	}
	r.leader = median(leaders)
	nanos, r.compared = median(ratios)*leaderNanos, true
	r.least, r.most = slices.Min(ratios)*leaderNanos, slices.Max(ratios)*leaderNanos
	return nanos, nanos <= slowFactor*leaderNanos, nil
}

// settle returns the nanoseconds of one run, from count batches of runs runs. It
// measures again later until that is not faster.
func (r *benchRun) settle(count, runs int, once, best float64) (nanos float64, err error) {
	for round := 0; ; round++ {
		figures, err := r.bench.clock.batches(r.GL, count, func() { r.repeat(runs) })
		if err != nil {
			return 0, err
		}
		last := nanos
		nanos = median(figures) / float64(runs)
		if last == 0 || nanos < last {
			r.least, r.most = slices.Min(figures)/float64(runs), slices.Max(figures)/float64(runs)
		}
		if last > 0 && (nanos > settled*last || round == mostRounds) {
			return min(nanos, last), nil
		}
		hopeless := best > 0 && nanos > slowFactor*asleepFactor*best
		if !r.bench.clock.gpu || once > longBatchNanos || hopeless {
			return nanos, nil
		}
		if err := r.wake(runs, settleTime); err != nil {
			return 0, err
		}
	}
}

// wake keeps the GPU busy for a time, with runs runs between two waits.
func (r *benchRun) wake(runs int, enough time.Duration) error {
	for start := time.Now(); time.Since(start) < enough; {
		r.repeat(runs)
		if err := kernel.Wait(r.GL); err != nil {
			return err
		}
	}
	return nil
}
