package resident

import "time"

// What the host of a simulated GPU pays for.
const (
	simulatedTrip = 60 * time.Microsecond // to the GL thread and back
	simulatedOver = 700 * time.Microsecond
)

// simulation is a driver's host and its GPU, in time of its own: submissions run
// one after the other, and the host does what await does.
type simulation struct {
	depth int
	aim   time.Duration // 0: the default of a tick
	slice time.Duration
	shows bool                                           // mapped memory shows when a tick has ended
	clock func(f simulated) (begin, end time.Duration)   // of the GPU; nil: it has none
	real  func(now, nominal time.Duration) time.Duration // what a tick of so many steps takes
	late  func(nap int) time.Duration                    // by which the host oversleeps
	lag   time.Duration                                  // from a report to its fence

	now          time.Duration
	flights      []simulated
	watch        stopwatch
	pace         pace
	idle         time.Duration // of the GPU
	ticks        int
	naps, trips  int
	latest       time.Duration // that an end was noticed after it
	lastEnd      time.Duration
	finished     uint64        // steps of flights that landed
	known        uint64        // steps of the report that was taken in last
	ahead        bool          // it is of flights that have not landed
	disbelieved  int           // flights after the first second of which the GPU's clock is not believed
	longest      time.Duration // tick after the first second
	longestPause time.Duration // between two ticks of a kernel that runs
}

// simulated is a flight.
type simulated struct {
	sighting
	submitted  time.Duration
	start, end time.Duration
	steps      uint64
	landed     bool
	report     uint64 // steps
}

// stepTime is a step of the simulated kernel.
const stepTime = 10 * time.Microsecond

// clockAhead is what the GPU's clock is ahead of the host's.
const clockAhead = 77 * time.Hour

// trueClock is a GPU's.
func trueClock(f simulated) (begin, end time.Duration) {
	return clockAhead + f.start, clockAhead + f.end
}

// callClock gives the time of the calls, as software drivers do.
func callClock(f simulated) (begin, end time.Duration) {
	return clockAhead + f.submitted, clockAhead + f.submitted + 5*time.Microsecond
}

// date is the host's clock.
func date(d time.Duration) time.Time { return time.Unix(1_000_000, 0).Add(d) }

// submit has the GPU begin when it is done with what it has.
func (m *simulation) submit(last uint64) uint64 {
	aim := m.aim
	if aim == 0 {
		aim = defaultTickTime
	}
	steps := m.pace.budget(aim, last)
	m.now += simulatedTrip
	m.trips++
	begin := max(m.now, m.lastEnd)
	if m.ticks > 20 {
		m.idle += begin - max(m.lastEnd, 0)
		m.longestPause = max(m.longestPause, begin-m.lastEnd)
	}
	length := time.Duration(steps) * stepTime
	if m.real != nil {
		length = m.real(begin, length)
	}
	if m.now > time.Second {
		m.longest = max(m.longest, length)
	}
	if m.slice > 0 {
		length = time.Hour // until it is told to end
	}
	m.lastEnd = begin + length
	m.flights = append(m.flights, simulated{sighting: sighting{at: date(m.now)}, submitted: m.now, start: begin, end: m.lastEnd, steps: steps})
	return steps
}

// reported is how many steps have been reported by now.
func (m *simulation) reported() uint64 {
	sum := m.finished
	for _, f := range m.flights {
		if m.now >= f.end {
			sum += f.steps
		}
	}
	return sum
}

// look is Session.look.
func (m *simulation) look() {
	looked := m.now
	m.now += simulatedTrip
	m.trips++
	for i := range m.flights {
		f := &m.flights[i]
		switch {
		case f.landed:
			continue
		case m.now < f.end+m.lag:
			f.missed = date(looked)
			return
		}
		f.landed, f.seen, f.report = true, date(m.now), m.reported()
		m.latest = max(m.latest, m.now-f.end)
		if m.clock != nil {
			f.sighting.begin, f.sighting.end = m.clock(*f)
		}
	}
}

// await is Session.await.
func (m *simulation) await() {
	f := &m.flights[0]
	v := vigil{expected: m.pace.expect(f.steps), slice: m.slice, covered: len(m.flights) > 1}
	if m.slice > 0 {
		v.expected = m.slice
	}
	began := max(m.watch.seen.Sub(date(0)), f.submitted)
	hurried := false
	for first := true; !f.landed; first = false {
		if !m.shows || m.ahead || m.reported() != m.known || v.overdue(m.now-began) || first && v.expected < quickTick {
			if m.look(); f.landed {
				break
			}
		} else {
			f.missed = date(m.now)
		}
		if gone := m.now - began; m.slice > 0 && gone >= m.slice && !hurried {
			hurried = true
			f.end = m.now + 30*time.Microsecond
			m.lastEnd = f.end
		}
		if hurried {
			m.now += time.Microsecond // looks without a nap
			continue
		}
		m.nap(v.nap(m.now - began))
	}
	m.land()
}

// nap is Session.nap.
func (m *simulation) nap(d time.Duration) {
	m.naps++
	m.now += d + shortestNap
	if d >= interruptibleNap {
		m.now += simulatedOver
	}
	if m.late != nil {
		m.now += m.late(m.naps)
	}
}

// land is Session.land.
func (m *simulation) land() {
	f := m.flights[0]
	m.flights = m.flights[1:]
	m.ticks++
	m.finished += f.steps
	m.watch.add(f.sighting, f.report-m.known, f.steps)
	m.known = f.report
	m.ahead = len(m.flights) > 0 && m.watch.ahead()
	if len(m.flights) > 0 && m.flights[0].landed && m.flights[0].report == f.report {
		return
	}
	steps, took, _ := m.watch.take()
	m.pace.note(steps, took)
	if m.watch.proven < 0 && m.now > time.Second {
		m.disbelieved++
	}
}

// run simulates so much time.
func (m *simulation) run(d time.Duration) {
	last := uint64(0)
	for m.now < d {
		for len(m.flights) < max(m.depth, 1) {
			last = m.submit(last)
		}
		m.await()
	}
}

// clocks are GPU clocks that there are, by whether times are exact.
var clocks = map[bool][]func(simulated) (time.Duration, time.Duration){
	true:  {trueClock},
	false: {nil, callClock},
}

// everyForm calls check with simulations in each depth, with and without a clock
// that tells the truth, of a driver that shows what kernels write and one that does
// not.
func everyForm(check func(m simulation, exact bool)) {
	for depth := 1; depth <= 3; depth++ {
		for _, shows := range []bool{false, true} {
			for exact, list := range clocks {
				for _, clock := range list {
					check(simulation{depth: depth, shows: shows, clock: clock}, exact)
				}
			}
		}
	}
}
