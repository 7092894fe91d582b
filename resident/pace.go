package resident

import "time"

// pace learns how long a step takes, of all groups together, from tick to tick.
type pace struct {
	nanos float64 // 0: nothing is known yet
}

// Steps of a tick.
const (
	firstSteps = 1  // nothing is known: one step may be long
	fewSteps   = 16 // from which on growth counts
)

// maxGrowth bounds how much larger one tick may be than the one before: times
// of short ticks are mostly the cost of starting them.
const maxGrowth = 8

// note takes in that so many steps took a time within bounds. It concludes no
// more than the bounds say: of a tick that was found ended long after its end,
// that it was not slower than that, and never that it was fast.
func (p *pace) note(steps uint64, took span) {
	if steps == 0 || took.most <= 0 {
		return
	}
	low, high := float64(took.least)/float64(steps), float64(took.most)/float64(steps)
	switch {
	case p.nanos == 0 || high < p.nanos:
		p.nanos = high // less than before: nothing stood in the way
	case low > 2*p.nanos:
		p.nanos = low // steps cost more: the next tick is not to be as long as this one
	case low > p.nanos:
		p.nanos += (low - p.nanos) / 4
	}
}

// expect is how long so many steps will take, 0 where that is not known.
func (p *pace) expect(steps uint64) time.Duration { return time.Duration(p.nanos * float64(steps)) }

// budget is how many steps take about d, given that the last tick had so many.
func (p *pace) budget(d time.Duration, last uint64) uint64 {
	if p.nanos == 0 {
		return firstSteps
	}
	return max(1, min(uint64(float64(d)/p.nanos), maxGrowth*max(last, fewSteps)))
}
