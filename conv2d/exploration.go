package conv2d

import (
	"slices"
	"time"
)

// exploration decides which of several variants a run takes, and accounts for what the
// others cost. It knows nothing of the device and has no clock. Its owner guards it.
//
//	allowance  share of what all runs so far take by the best one, less what exploring cost
//	cost       of a run by another variant: what it took longer than the best one takes;
//	           of a variant's programs, weights and check: all of it
//
// Another variant gets a run where the allowance covers what it should cost. So exploring
// adds no more than the share to the time of all runs, but for the last thing that took
// longer than expected, which later runs pay back first.
type exploration struct {
	share    float64
	total    time.Duration // of all runs
	excess   time.Duration // of it, what runs of others took longer than the best one takes
	cost     time.Duration // of exploring so far, with the excess
	prepare  time.Duration // what preparing a variant should cost
	best     int
	variants []variant
}

// variant is one way to run.
type variant struct {
	times    []time.Duration // of its latest runs
	prepared bool
	busy     bool // it is being prepared
	out      bool // slower than the best, or wrong
}

const (
	exploreTrials   = 7    // runs of a variant that are compared
	exploreLeast    = 2    // runs after which a variant may be given up
	exploreHopeless = 1.5  // of the best one's time: what it takes then at least
	exploreGain     = 0.97 // of the best one's time: what a better variant takes at most
)

// newExploration starts with variant 0 as the best, which is prepared.
func newExploration(share float64, variants int, prepare time.Duration) *exploration {
	x := &exploration{share: share, prepare: prepare, variants: make([]variant, variants)}
	x.variants[0].prepared = true
	return x
}

// next returns the variant of the next run, and whether it has to be prepared before: then
// prepared has to be called. It is the best one while the allowance does not cover another.
func (x *exploration) next() (n int, prepare bool) {
	if len(x.variants[x.best].times) < exploreTrials {
		return x.best, false
	}
	n = x.leastTried()
	if n < 0 || x.allowance() < x.expected(n) {
		return x.best, false
	}
	v := &x.variants[n]
	v.busy = !v.prepared
	return n, v.busy
}

func (x *exploration) allowance() time.Duration {
	return time.Duration(x.share*float64(x.total-x.excess)) - x.cost
}

// leastTried returns the variant with the fewest runs that is still of interest, or -1.
func (x *exploration) leastTried() int {
	least := -1
	for i, v := range x.variants {
		if i == x.best || v.out || v.busy {
			continue
		}
		if least < 0 || len(v.times) < len(x.variants[least].times) {
			least = i
		}
	}
	return least
}

// expected returns what the next run of a variant should cost: one that never ran, as much
// as a run of the best one.
func (x *exploration) expected(n int) time.Duration {
	v, usual := &x.variants[n], x.usual(x.best)
	cost := usual
	if len(v.times) > 0 {
		cost = x.usual(n) - usual
	}
	if !v.prepared {
		cost += x.prepare
	}
	return cost
}

// usual returns the median of the latest times of a variant.
func (x *exploration) usual(n int) time.Duration {
	sorted := slices.Sorted(slices.Values(x.variants[n].times))
	return sorted[len(sorted)/2]
}

// prepared adds what preparing a variant took. One that is not right never runs.
func (x *exploration) prepared(n int, took time.Duration, right bool) {
	v := &x.variants[n]
	v.busy, v.prepared, v.out = false, right, !right
	x.cost += took
	x.prepare = max(x.prepare, took)
}

// ran adds a run and reports whether another variant is the best from now on.
func (x *exploration) ran(n int, took time.Duration) (better bool) {
	v := &x.variants[n]
	x.total += took
	if n != x.best && len(x.variants[x.best].times) > 0 {
		over := max(took-x.usual(x.best), 0)
		x.excess, x.cost = x.excess+over, x.cost+over
	}
	v.times = append(v.times, took)
	v.times = v.times[max(0, len(v.times)-exploreTrials):]
	if n != x.best && len(v.times) >= exploreLeast && float64(slices.Min(v.times)) > exploreHopeless*float64(x.usual(x.best)) {
		v.out = true
	}
	if n == x.best || v.out || len(v.times) < exploreTrials {
		return false
	}
	if float64(x.usual(n)) > exploreGain*float64(x.usual(x.best)) {
		v.out = true
		return false
	}
	x.variants[x.best].out = true
	x.best = n
	return true
}

// done reports whether nothing is left to explore.
func (x *exploration) done() bool {
	for i, v := range x.variants {
		if i != x.best && !v.out {
			return false
		}
	}
	return len(x.variants[x.best].times) >= exploreTrials
}
