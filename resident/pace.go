package resident

import "time"

// pace learns how long a step takes, from tick to tick.
type pace struct {
	perStep time.Duration // of all groups; 0: nothing is known yet
	nanos   float64
}

// firstSteps is how many steps a tick has that nothing is known about.
const firstSteps = 16

// maxGrowth bounds how much larger one tick may be than the one before: times
// of short ticks are mostly the cost of starting them.
const maxGrowth = 8

// note takes in that so many steps took d. rough says that d is too long or too
// short by chance: nobody looked closely.
func (p *pace) note(steps uint64, d time.Duration, rough bool) {
	if steps == 0 || d <= 0 {
		return
	}
	each := float64(d) / float64(steps)
	if p.nanos == 0 || each < p.nanos && !rough || each < p.nanos*3/4 {
		p.nanos = each // less than before: nothing stood in the way
	} else {
		p.nanos += (each - p.nanos) / 4
	}
	p.perStep = time.Duration(p.nanos)
}

// expect is how long so many steps will take, 0 where that is not known.
func (p *pace) expect(steps uint64) time.Duration { return time.Duration(p.nanos * float64(steps)) }

// budget is how many steps take about d, given that the last tick had so many.
func (p *pace) budget(d time.Duration, last uint64) uint64 {
	if p.nanos == 0 {
		return firstSteps
	}
	return max(1, min(uint64(float64(d)/p.nanos), maxGrowth*max(last, firstSteps)))
}
