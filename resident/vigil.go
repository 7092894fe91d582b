package resident

import "time"

// vigil says when to look after a tick that is under way, so that its end is
// noticed soon and the host sleeps meanwhile: each time that a thread wakes costs
// 30 to 100 us of CPU time, and a look at a fence as much again.
type vigil struct {
	expected time.Duration // that the tick takes from its beginning; 0: not known
	slice    time.Duration // after which it is told to end; 0: it ends by itself
	covered  bool          // another tick waits on the GPU: to notice the end late costs nothing
	early    bool          // the last one ended before its steps were done, as one does that becomes idle
}

// Naps while a tick is under way. What is longer than interruptibleNap can be cut
// short by whoever wants the driver, and may last a millisecond too long. An
// expectation that is wrong costs longestNap, however wrong it is, and a covered tick's
// costs coveredNap of the time of the one that waits.
const (
	shortestNap      = 20 * time.Microsecond
	interruptibleNap = 1200 * time.Microsecond
	lateNap          = time.Millisecond // at most, while a tick is late that is not covered
	longestNap       = 10 * time.Millisecond
	coveredNap       = 15 * time.Millisecond // the longest one while a covered tick is under way
)

// Shares of what a tick should take.
const (
	coveredNear = 10  // how close to its end a covered tick is looked after
	coveredLook = 16  // and how often then
	nearLook    = 32  // how close any other one is
	closeLook   = 128 // and how often then
	sliceLooks  = 8   // how often, at least, one that is told to end
)

// nap is how long to sleep when so much time has gone since the tick began.
func (v vigil) nap(gone time.Duration) time.Duration {
	if v.early {
		v.early = false
		return min(max(gone, shortestNap), v.nap(gone))
	}
	if v.slice > 0 && gone < v.slice {
		return v.napInSlice(gone)
	}
	near, often, most := max(v.expected/nearLook, interruptibleNap), v.expected/closeLook, longestNap
	if v.covered {
		near, often, most = v.expected/coveredNear, v.expected/coveredLook, coveredNap
	}
	if left := v.expected - gone; left > near {
		// Who sleeps for as long as the last one took never finds out that this one
		// is over sooner.
		return min(left-left/4, most)
	}
	return min(max(often, v.late(gone), shortestNap), most)
}

// napInSlice is nap for a tick that is told to end, before it is. It may end at any
// time, by a signal: who waited twice as long as it took has not lost much. Where its
// steps should be done before the slice is over, their end is looked for as well.
func (v vigil) napInSlice(gone time.Duration) time.Duration {
	d := min(max(gone, 5*shortestNap), v.slice/sliceLooks, max(v.slice-gone, shortestNap), longestNap)
	if v.expected <= 0 || v.expected >= v.slice {
		return d
	}
	often := max(v.expected/closeLook, shortestNap)
	if left := v.expected - gone; left > often {
		return min(d, left-left/4)
	}
	return min(d, max(often, v.late(gone)))
}

// late is how long to sleep since a tick is late: the later it is, the longer it may
// still take. Who looks late after a covered one loses nothing as long as the next one
// runs, which takes as long.
func (v vigil) late(gone time.Duration) time.Duration {
	late := max(gone-v.expected, 0)
	if v.covered {
		return min(8*late, gone/2)
	}
	return min(late/2, lateNap)
}

// overdue reports whether a tick should have ended long ago, so that what the
// mapped memory shows of it is not to be relied on. For a covered one there is time.
func (v vigil) overdue(gone time.Duration) bool {
	due := v.expected
	if v.slice > 0 {
		due = v.slice
	}
	if v.covered {
		due *= 2
	}
	return gone > due+due/8+lateNap
}
