package pace

import "time"

// Estimator estimates how long a step takes, over all groups together, from the
// durations of ticks. The zero value has no estimate.
type Estimator struct {
	nanos float64 // of a step; 0: no estimate yet
	steps uint64  // of a tick that may raise the estimate, times MaxGrowth, at least
}

// Bounds is a duration that is known to lie between two values.
type Bounds struct{ Least, Most time.Duration }

const (
	firstSteps = 1  // of a tick while there is no estimate: one step may be long
	fewSteps   = 16 // growth is relative to at least this number of steps

	// MaxGrowth bounds the ratio of a tick's steps to those of the tick before.
	// The duration of a short tick is mostly the cost of starting it.
	MaxGrowth = 8
)

// startTime is what a tick takes beyond its steps, at most: on an H200 the host sees a word
// 10 us after the dispatch that writes it.
const startTime = 20 * time.Microsecond

// Observe adds the duration of a number of steps. A lower bound of 0 can lower the
// estimate and never raises it: a host that polls late measures too long, never too
// short. Nor does a tick raise it that is much shorter than those before, as the last one
// of a run may be: starting it took most of its time.
func (e *Estimator) Observe(steps uint64, took Bounds) {
	if steps == 0 || took.Most <= 0 {
		return
	}
	low, high := float64(took.Least-startTime)/float64(steps), float64(took.Most)/float64(steps)
	if steps < e.steps/MaxGrowth {
		low = 0
	}
	e.steps = max(steps, e.steps/2) // several short ticks are no exception
	switch {
	case e.nanos == 0 || high < e.nanos:
		e.nanos = high
	case low > 2*e.nanos:
		e.nanos = low // the next tick must not be as long as this one
	case low > e.nanos:
		e.nanos += (low - e.nanos) / 4
	}
}

// Known reports whether there is an estimate.
func (e *Estimator) Known() bool { return e.nanos > 0 }

// Expect returns the expected duration of a number of steps, 0 without an estimate.
func (e *Estimator) Expect(steps uint64) time.Duration {
	return time.Duration(e.nanos * float64(steps))
}

// Budget returns the number of steps that take about target. last is the number of
// steps of the tick before: see MaxGrowth.
func (e *Estimator) Budget(target time.Duration, last uint64) uint64 {
	if !e.Known() {
		return firstSteps
	}
	return max(1, min(uint64(float64(target)/e.nanos), MaxGrowth*max(last, fewSteps)))
}

// coldAfter is the idle time after which a GPU may have lowered its clock.
const coldAfter = time.Second

// WarmUp returns the divisor of a tick's target time after the GPU was idle for a
// duration: steps on a GPU with a lowered clock take several times as long.
func WarmUp(idle time.Duration) time.Duration {
	if idle > coldAfter {
		return MaxGrowth
	}
	return 1
}
