//go:build linux

package conv2d

import (
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// bench holds the tensors of a problem on the device, for candidates to run on.
type bench struct {
	sets  []testSet
	clock clock
}

// testSet is a set of tensors with what the result has to be.
type testSet struct {
	kernel.Tensors
	checker checker
	device  *kernel.DeviceTensors
}

// open puts the tensors on the device.
func (b *bench) open(gl *glctx.GL) error {
	b.clock.open(gl)
	for i := range b.sets {
		var err error
		s := &b.sets[i]
		if s.device, err = kernel.NewDeviceTensors(gl, s.Tensors, s.checker.elements()); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) close(gl *glctx.GL) {
	b.clock.close(gl)
	for _, s := range b.sets {
		if s.device != nil {
			s.device.Free(gl)
		}
	}
}

// coverage describes what is compared.
func (b *bench) coverage() string {
	words := make([]string, len(b.sets))
	for i, s := range b.sets {
		words[i] = s.checker.coverage()
	}
	return strings.Join(words, ", and ")
}

// benchRun is one sequence on a bench, within one callback.
type benchRun struct {
	*kernel.Run
	gl     *glctx.GL
	bench  *bench
	waited time.Duration // that the GPU waited for the CPU to compare results

	least, most float64 // nanoseconds of a run in the batches that count
}

// load makes the memory that a sequence needs besides the tensors.
func (b *bench) load(gl *glctx.GL, s kernel.Sequence, programs map[shader.Key]uint32) (*benchRun, error) {
	run, err := kernel.NewRun(gl, s, programs)
	return &benchRun{Run: run, gl: gl, bench: b}, err
}

// check runs the sequence once on every set and compares the results.
func (r *benchRun) check(tolerance float64) (Report, error) {
	var all Report
	for _, s := range r.bench.sets {
		got, err := r.Checked(s.device)
		if err != nil {
			return all, err
		}
		start := time.Now()
		all.Append(s.checker.check(got, tolerance))
		r.waited += time.Since(start)
	}
	return all, nil
}

// timed is the set that is timed.
func (r *benchRun) timed() testSet { return r.bench.sets[0] }

// checkTimed compares what the timed runs left behind. Runs that add to their output
// have no such result, so these are checked as before.
func (r *benchRun) checkTimed(tolerance float64) (Report, error) {
	s := r.timed()
	if s.Output != nil {
		return r.check(tolerance)
	}
	got, err := s.device.ReadOutput(r.gl)
	if err != nil {
		return Report{}, err
	}
	return s.checker.check(got, tolerance), nil
}

// repeat makes n runs of the set that is timed.
func (r *benchRun) repeat(n int) { r.Repeat(r.timed().device, n) }

const (
	// slowFactor is how far behind the best a candidate is not worth a closer look.
	slowFactor = 2.5

	// From firstNanos on, the first run says enough about a candidate that is twice
	// as far behind: what comes with a first run is small beside it.
	firstNanos = 5e7

	// asleepFactor is how much slower a GPU is that has just waited for the CPU: it
	// lowers its clock. An NVIDIA H200 took some 100 ms of work to come back from
	// 345 to 1980 MHz; after a short wait less does.
	asleepFactor = 6
	wakeTime     = 150 * time.Millisecond
	napTime      = 20 * time.Millisecond

	// The clock rises in steps that may last longer than a measurement: so another
	// one follows settleTime of work later, until it is not faster any more.
	settleTime = 100 * time.Millisecond
	settled    = 0.97
	mostRounds = 8

	wakeNanos = 3e7 // in one go, before a calibration

	// A figure is the median of so many batches, each of about so long, and of no
	// more than so many runs.
	batches        = 7
	batchNanos     = 4e6
	batchRuns      = 1000
	longBatchNanos = 2e8 // from here on, fewer batches
	longBatches    = 3
)

// time is the nanoseconds of one run. It is not the whole truth, but one run alone,
// where that is far behind best.
func (r *benchRun) time(best float64) (nanos float64, whole bool, err error) {
	clock := &r.bench.clock
	if best > 0 && r.FirstNanos > firstNanos && r.FirstNanos > 2*slowFactor*best {
		return r.FirstNanos, false, nil
	}
	if err := clock.calibrate(r.gl, r.repeat); err != nil {
		return 0, false, err
	}
	once, err := clock.time(r.gl, func() { r.repeat(1) })
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

// settle is the nanoseconds of one run, from count batches of so many runs each, and
// again a while later until that makes no difference.
func (r *benchRun) settle(count, runs int, once, best float64) (nanos float64, err error) {
	for round := 0; ; round++ {
		figures, err := r.bench.clock.batches(r.gl, count, func() { r.repeat(runs) })
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

// wake keeps the GPU busy for a while, so many runs at a time.
func (r *benchRun) wake(runs int, enough time.Duration) error {
	for start := time.Now(); time.Since(start) < enough; {
		r.repeat(runs)
		if err := kernel.Wait(r.gl); err != nil {
			return err
		}
	}
	return nil
}
