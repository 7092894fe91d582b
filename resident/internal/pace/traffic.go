package pace

import "time"

// Traffic decides when to look for messages again, from when the last ones came. The zero
// value has seen none.
type Traffic struct {
	last time.Time
	gap  time.Duration // mean time between messages
}

const (
	// LongestSpin bounds the time for which a host polls without a pause after a message.
	LongestSpin = 200 * time.Microsecond

	spinGaps  = 4 // it polls for so many mean gaps
	gapWeight = 4 // a gap counts for a quarter of the mean

	restShare   = 100 // after a rest it looks with intervals of a hundredth of it
	longestRest = 20 * time.Millisecond
)

// Saw adds the messages that were found at a time. After a rest their gap counts as little
// more than LongestSpin, so that the next ones show that there is traffic again.
func (t *Traffic) Saw(now time.Time) {
	gap := min(now.Sub(t.last), 2*LongestSpin)
	t.gap += (gap - t.gap) / gapWeight
	t.last = now
}

// Wait returns the time until the next look: 0 while the next message is likely to come
// soon, then that of Backoff, and after a rest of more than half a second a hundredth of it, up
// to 20 ms: looking 200 times a second takes about 1% of a CPU.
func (t *Traffic) Wait(now time.Time) time.Duration {
	quiet := now.Sub(t.last)
	if quiet < t.spinTime() {
		return 0
	}
	return max(Backoff(quiet), min(quiet/restShare, longestRest))
}

// spinTime returns the time for which a host polls after a message: SpinTime, or more where
// messages come with gaps that are as long.
func (t *Traffic) spinTime() time.Duration {
	if t.gap > LongestSpin {
		return SpinTime
	}
	return min(max(SpinTime, spinGaps*t.gap), LongestSpin)
}
