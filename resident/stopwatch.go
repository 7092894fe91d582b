package resident

import "time"

// span is a time that is known within bounds.
type span struct{ least, most time.Duration }

// sighting is when a flight was seen, and what the GPU's clock says.
type sighting struct {
	at     time.Time     // when it was handed over
	issue  time.Duration // of the calls: on a software driver, of the work
	missed time.Time     // the last look that found it under way; zero: none did
	seen   time.Time     // the look that found it ended

	begin, end time.Duration // on the GPU's clock; 0 where there is none
}

// work is what a report has more than the one before it, and what the flight that
// came with it is. Reports are in mapped memory, where they are seen before fences
// are reached: one may be of flights that have not landed, too.
type work struct {
	steps, planned uint64 // that were done; that the flight should do
	ticks, issued  uint32 // that ended; that the flight consists of
}

// stopwatch says how long flights took. They run one after the other, and each
// begins when it was handed over, or when the one before it ends. The GPU's clock
// knows when; where it makes no sense, the host's looks are bounds of it.
type stopwatch struct {
	missed, seen time.Time     // the newest flight ended between the two
	end          time.Duration // and then by the GPU's clock
	proven       int           // above 0: that clock is believed
	lead         uint32        // ticks that were reported and are of flights that were not added
	lap          lap
}

// disproved is what a GPU's clock is taken back to that does not fit: it has to fit
// so many times more, and once, before it is believed.
const disproved = -3

// lap is flights whose steps are not told apart.
type lap struct {
	flights          int
	steps, planned   uint64
	shared           bool      // the first one's work was in a report before
	earliest, latest time.Time // the first one began between the two
	missed, seen     time.Time // the last one ended between the two
	issue            time.Duration
	gpu, longest     time.Duration // all of them and the longest one by the GPU's clock
	unclear          bool          // that clock made no sense
}

// add takes a flight into the lap.
func (w *stopwatch) add(v sighting, d work) {
	l := &w.lap
	earliest, latest := later(v.at, w.missed), later(v.at, w.seen)
	if l.flights == 0 {
		l.earliest, l.latest, l.shared = earliest, latest, w.lead > 0
	}
	w.lead += d.ticks
	w.lead -= min(w.lead, d.issued)
	if latest.Equal(v.at) && v.issue > quickTick { // else the work came after the calls
		l.issue += v.issue
	}
	took := v.end - max(v.begin, w.end)
	l.unclear = l.unclear || v.begin <= 0 || took <= 0
	l.gpu, l.longest = l.gpu+took, max(l.longest, took)
	l.flights, l.steps, l.planned = l.flights+1, l.steps+d.steps, l.planned+d.planned
	l.missed, l.seen = later(l.missed, v.missed), v.seen
	w.missed, w.seen, w.end = later(earliest, v.missed), v.seen, v.end
}

// take ends the lap: how many steps took how long, and the longest flight, or
// the mean one where that is not known. Where reports are of just these flights, steps
// are what they did, whatever they should.
func (w *stopwatch) take() (steps uint64, took span, longest time.Duration) {
	l := w.lap
	w.lap = lap{}
	if l.flights == 0 {
		return 0, span{}, 0
	}
	steps, took = l.steps, l.byHost()
	if l.shared || w.lead > 0 {
		steps = min(steps, l.planned)
	}
	if w.believes(&l, took) {
		return steps, span{l.gpu, l.gpu}, l.longest
	}
	return steps, took, took.most / time.Duration(l.flights)
}

// byHost is how long a lap took as far as the host saw it.
func (l *lap) byHost() span {
	most := l.seen.Sub(l.earliest)
	return span{min(max(l.missed.Sub(l.latest), l.issue), most), most}
}

// believes reports whether the GPU's clock fits to what the host saw, now and
// before. A driver's clock may stand still, or give the time of the call, which
// nobody can tell who looked too late. Less than the host saw is right where the
// GPU did something else first, but then not much less.
func (w *stopwatch) believes(l *lap, host span) bool {
	switch {
	case l.unclear:
		return false
	case l.gpu > host.most || l.gpu < host.least/2:
		w.proven = disproved
	case host.least > host.most/8:
		w.proven = min(w.proven+1, 1)
	}
	return w.proven > 0
}

// later is the later one of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
