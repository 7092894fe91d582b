package pace

import "time"

// PollPolicy decides when the host polls for the end of a tick, so that the end is
// seen soon and the host sleeps in between. A wake-up of a thread takes 30 to 100 us
// of CPU time, and polling a fence takes as much again.
type PollPolicy struct {
	Expected time.Duration // of the tick, from its beginning; 0: not known
	Slice    time.Duration // after which the host requests the end; 0: the tick ends by itself
	Covered  bool          // another tick is queued on the GPU: polling late costs nothing
	Early    bool          // the last tick ended before its steps were done, as idle groups end it
}

const (
	// ShortTick is the duration below which a tick ends sooner than a thread that
	// sleeps could be woken.
	ShortTick = 100 * time.Microsecond

	// ShortestSleep is the shortest sleep between two polls.
	ShortestSleep = 20 * time.Microsecond

	// InterruptibleSleep is the duration from which a sleep can be interrupted. The ends
	// of shorter ticks are seen by spinning, where mapped memory shows them.
	InterruptibleSleep = 1200 * time.Microsecond

	lateSleep    = time.Millisecond      // longest sleep while an uncovered tick is late
	longestSleep = 10 * time.Millisecond // bounds the cost of a wrong expectation
	coveredSleep = 15 * time.Millisecond // the same while a covered tick runs
)

// Shares of the expected duration.
const (
	coveredNear  = 10  // the end of a covered tick is near within 1/10
	coveredPolls = 16  // polls near its end are 1/16 apart
	nearShare    = 32  // the same of a tick that is not covered
	nearPolls    = 128 // and
	slicePolls   = 8   // polls of a slice, at least
)

// Sleep returns the time to sleep before the next poll. elapsed is the time since the
// tick began.
func (p PollPolicy) Sleep(elapsed time.Duration) time.Duration {
	if p.Early {
		p.Early = false
		return min(max(elapsed, ShortestSleep), p.Sleep(elapsed))
	}
	if p.Slice > 0 && elapsed < p.Slice {
		return p.sleepInSlice(elapsed)
	}
	near, interval, longest := max(p.Expected/nearShare, InterruptibleSleep), p.Expected/nearPolls, longestSleep
	if p.Covered {
		near, interval, longest = p.Expected/coveredNear, p.Expected/coveredPolls, coveredSleep
	}
	if left := p.Expected - elapsed; left > near {
		// A sleep over the whole rest would never observe that ticks became shorter.
		return min(left-left/4, longest)
	}
	return min(max(interval, p.lateInterval(elapsed), ShortestSleep), longest)
}

// sleepInSlice is Sleep for a tick with a slice, before the slice is over. A signal
// may end the tick at any time, so the sleep grows with the elapsed time. Where the
// steps should be done before the slice is over, polls are close around that time.
func (p PollPolicy) sleepInSlice(elapsed time.Duration) time.Duration {
	d := min(max(elapsed, 5*ShortestSleep), p.Slice/slicePolls, max(p.Slice-elapsed, ShortestSleep), longestSleep)
	if p.Expected <= 0 || p.Expected >= p.Slice {
		return d
	}
	interval := max(p.Expected/nearPolls, ShortestSleep)
	if left := p.Expected - elapsed; left > interval {
		return min(d, left-left/4)
	}
	return min(d, max(interval, p.lateInterval(elapsed)))
}

// lateInterval returns the time between polls of a tick that is late, which grows
// with the delay. For a covered tick it is longer: the GPU works on the next one.
func (p PollPolicy) lateInterval(elapsed time.Duration) time.Duration {
	late := max(elapsed-p.Expected, 0)
	if p.Covered {
		return min(8*late, elapsed/2)
	}
	return min(late/2, lateSleep)
}

// Overdue reports whether a tick should have ended long ago. The host then polls the
// fence even where mapped memory shows no end. A covered tick gets twice the time.
func (p PollPolicy) Overdue(elapsed time.Duration) bool {
	due := p.Expected
	if p.Slice > 0 {
		due = p.Slice
	}
	if p.Covered {
		due *= 2
	}
	return elapsed > due+due/8+lateSleep
}

// Waits for the end of a short tick, which mapped memory shows. A sleep that short is late
// by the timer slack, and by the time until its thread runs.
const (
	spinLead  = 40 * time.Microsecond // what a sleep may be late
	worthIt   = 60 * time.Microsecond // a shorter sleep takes as much CPU time as it saves
	spinLate  = 100 * time.Microsecond
	earlySpin = 300 * time.Microsecond
)

// UntilSpin returns the time to sleep before the host spins for the end of a short tick:
// the part of the wait that is surely left, or 0. A queued tick follows a covered one at
// once.
func (p PollPolicy) UntilSpin(elapsed time.Duration) time.Duration {
	left := p.Expected - elapsed
	if !p.Covered {
		left -= spinLead + p.Expected/nearShare
	}
	if p.Early || left < worthIt {
		return 0
	}
	return left
}

// Spins reports whether the host continues to spin for the end of a short tick. After that
// its steps have become slower, or the GPU does other work.
func (p PollPolicy) Spins(elapsed time.Duration) bool {
	if p.Early {
		return elapsed < earlySpin
	}
	return elapsed < p.Expected+p.Expected/4+spinLate
}

// SpinTime is how long a caller spins on mapped memory before it sleeps: longer than
// the round trip to a kernel that runs.
const SpinTime = 50 * time.Microsecond

// NapTime is how long a caller then polls with short sleeps: several times what passes
// between two ticks.
const NapTime = 2 * time.Millisecond

const (
	backoffShare   = 4
	longestBackoff = 5 * time.Millisecond
)

// Backoff returns the time to sleep between polls of mapped memory after having waited
// for a duration: a quarter of it, up to 5 ms, so that a late poll costs little.
func Backoff(waited time.Duration) time.Duration { return min(waited/backoffShare, longestBackoff) }
