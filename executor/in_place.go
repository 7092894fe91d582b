package executor

import (
	"slices"
	"time"
)

// A small job that is alone in its batch may have its data copied to the device and back, or
// its kernel may use the mapped memory in place, which saves two copies by the driver. On an
// H200 that takes 17 us instead of 22 for 4 KiB each way, but 56 instead of 31 where kernels
// read each word 32 times, through the bus (docs/bench/host-h200.md). So the executor tries
// both for each kind of work, and keeps the faster.

// mostInPlace is the number of bytes, each way, up to which mapped memory is tried: as many were
// measured.
const mostInPlace = 16 << 10

// form is how a job's data gets to its kernel.
type form uint8

const (
	copied form = iota
	inPlace
	dataForms
)

// trial finds the faster form for one kind of work.
type trial struct {
	jobs  [dataForms]int           // measured
	least [dataForms]time.Duration // from the first call of the driver until the result
	since int                      // jobs since both were measured
}

const (
	trialJobs  = 8    // of each form
	trialAgain = 4096 // jobs after which the forms are tried again: their kernels may do other work

	// mostTrial is the time beyond which a job is not worth a trial, which saves 5 us.
	mostTrial = maxSpin
)

// next returns the form of the next job.
func (t *trial) next() form {
	switch {
	case t.jobs[copied] < trialJobs || t.least[copied] > mostTrial:
		return copied
	case t.jobs[inPlace] < trialJobs && (t.jobs[inPlace] == 0 || t.least[inPlace] <= 2*t.least[copied]): // else one shows that it is slow
		return inPlace
	}
	if t.since++; t.since >= trialAgain {
		*t = trial{}
	}
	if t.least[inPlace] < t.least[copied] {
		return inPlace
	}
	return copied
}

// observe records the time of a job.
func (t *trial) observe(f form, took time.Duration) {
	if t.jobs[f] == 0 || took < t.least[f] {
		t.least[f] = took
	}
	t.jobs[f]++
}

// chooseForm sets the form of a stage that is about to be recorded.
func (p *pipeline) chooseForm(s *stage) {
	s.tried = len(p.stages) == 0 && s.whole != nil && p.e.mayUseInPlace(s.whole)
	switch {
	case s.tried && p.e.options.test.inPlace:
		s.form = inPlace
	case s.tried:
		s.form = p.estimates.of(s).trial.next()
	}
}

// mayUseInPlace reports whether the kernels of a batch that runs as a whole may use the mapped
// memory of its slot. A chain of dispatches may not: the second would read through the bus
// what the first wrote. Nor may jobs with copies of their own, or counters, which kernels
// change one by one.
func (e *Executor) mayUseInPlace(b *batch) bool {
	return e.usesMapped && len(b.commands) == 1 && b.commands[0].host == nil && len(b.copies) == 0 &&
		b.upBytes() <= mostInPlace && b.downBytes() <= mostInPlace && b.upBytes()+b.downBytes() > 0 &&
		!slices.ContainsFunc(b.binds, func(bound bind) bool { return bound.from == slotCounters })
}
