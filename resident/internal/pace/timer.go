package pace

import "time"

// Sample holds the times of one submission.
type Sample struct {
	Submitted time.Time     // when it was handed to the driver
	Issue     time.Duration // of the GL calls; a software driver does the work in them
	Missed    time.Time     // the last poll before its end; zero: there was none
	Seen      time.Time     // the poll that found it ended

	Begin, End time.Duration // on the GPU's clock; 0 without one
}

// Work is what a submission did according to two consecutive status blocks. Mapped
// memory shows a status before the fence is reached, so it may include the work of
// submissions whose fences are still pending.
type Work struct {
	Steps, Planned uint64 // done since the last status; planned for the submission
	Leads          bool   // the status includes work of later submissions
}

// TickTimer measures how long submissions took. They run in order: each begins when it
// was submitted or when the one before it ends. Times come from the GPU's timestamps.
// Where those are implausible they come from the host's polls, as bounds.
type TickTimer struct {
	missed, seen time.Time     // the newest submission ended between these polls
	end          time.Duration // the same on the GPU's clock
	trusted      int           // above 0: timestamps are used
	leads        bool          // the newest submission's status includes work of later ones
	window       window
}

// untrusted is the value of TickTimer.trusted after an implausible timestamp: three
// plausible windows bring it back to 0, a fourth makes timestamps trusted.
const untrusted = -3

// window accumulates consecutive submissions whose steps cannot be told apart.
type window struct {
	submissions      int
	steps, planned   uint64
	shared           bool      // the status before included work of the first submission
	earliest, latest time.Time // bounds of the beginning of the first submission
	missed, seen     time.Time // bounds of the end of the last one
	issue            time.Duration
	gpu, longest     time.Duration // sum and maximum by the GPU's clock
	implausible      bool          // a timestamp was missing or not increasing
}

// Observe adds a submission to the current window.
func (t *TickTimer) Observe(s Sample, done Work) {
	w := &t.window
	earliest, latest := later(s.Submitted, t.missed), later(s.Submitted, t.seen)
	if w.submissions == 0 {
		w.earliest, w.latest, w.shared = earliest, latest, t.leads
	}
	t.leads = done.Leads
	if latest.Equal(s.Submitted) && s.Issue > ShortTick { // else the GPU was busy during the calls
		w.issue += s.Issue
	}
	took := s.End - max(s.Begin, t.end)
	w.implausible = w.implausible || s.Begin <= 0 || took <= 0
	w.gpu, w.longest = w.gpu+took, max(w.longest, took)
	w.submissions, w.steps, w.planned = w.submissions+1, w.steps+done.Steps, w.planned+done.Planned
	w.missed, w.seen = later(w.missed, s.Missed), s.Seen
	t.missed, t.seen, t.end = later(earliest, s.Missed), s.Seen, s.End
}

// Take ends the window and returns its steps, their duration, and the duration of the
// longest submission, or the mean one without the GPU's clock. Where a status is shared
// with other submissions, steps are at most those that were planned.
func (t *TickTimer) Take() (steps uint64, took Bounds, longest time.Duration) {
	w := t.window
	t.window = window{}
	if w.submissions == 0 {
		return 0, Bounds{}, 0
	}
	steps, took = w.steps, w.hostBounds()
	if w.shared || t.leads {
		steps = min(steps, w.planned)
	}
	if t.updateTrust(&w, took) {
		return steps, Bounds{w.gpu, w.gpu}, w.longest
	}
	return steps, took, took.Most / time.Duration(w.submissions)
}

// LastEnd returns the time of the poll that found the newest submission ended.
func (t *TickTimer) LastEnd() time.Time { return t.seen }

// BeginOf returns the earliest time at which a submission may have begun: its
// submission, or the end of the one before it.
func (t *TickTimer) BeginOf(s Sample) time.Time { return later(s.Submitted, t.seen) }

// hostBounds returns the duration of a window as bounded by the host's polls.
func (w *window) hostBounds() Bounds {
	most := w.seen.Sub(w.earliest)
	return Bounds{min(max(w.missed.Sub(w.latest), w.issue), most), most}
}

// updateTrust reports whether the timestamps of a window are used, and updates the
// trust in the GPU's clock. Some drivers return a constant, or the time of the call.
// host bounds the plausible values; a window that the host polled too late (a lower
// bound below an eighth of the upper one) proves nothing. Less than the lower bound is
// correct where the GPU did other work first, but then not below half of it.
func (t *TickTimer) updateTrust(w *window, host Bounds) bool {
	switch {
	case w.implausible:
		return false
	case w.gpu > host.Most || w.gpu < host.Least/2:
		t.trusted = untrusted
	case host.Least > host.Most/8:
		t.trusted = min(t.trusted+1, 1)
	}
	return t.trusted > 0
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
