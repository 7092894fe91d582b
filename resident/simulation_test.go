package resident

import "time"

// What the host of a simulated GPU pays for.
const (
	simulatedTrip = 60 * time.Microsecond // to the GL thread and back
	simulatedOver = 700 * time.Microsecond
)

// simulation is a driver's host and its GPU, in time of its own: submissions run
// one after the other, each with the budget that is the newest one when it begins,
// and the host does what await does.
type simulation struct {
	depth int
	aim   time.Duration // 0: the default of a tick
	slice time.Duration
	shows bool                                           // mapped memory shows when a tick has ended
	clock func(f simulated) (begin, end time.Duration)   // of the GPU; nil: it has none
	real  func(now, nominal time.Duration) time.Duration // what a tick of so many steps takes
	late  func(nap int) time.Duration                    // by which the host oversleeps
	lag   time.Duration                                  // from a report to its fence
	wrong float64                                        // factor of what the host expects of a tick; 0: 1

	now          time.Duration
	budget       uint64 // in mapped memory
	flights      []simulated
	watch        stopwatch
	pace         pace
	idle         time.Duration // of the GPU
	ticks        int
	naps, trips  int
	latest       time.Duration   // that an end was noticed after it
	lastEnd      time.Duration   // of the ticks that began
	reported     simulatedReport // as mapped memory shows it
	known        simulatedReport // that was taken in last
	ahead        bool            // it is of flights that have not landed
	misjudged    int             // flights that did other steps than the host thought when it waited for them
	disbelieved  int             // flights after the first second of which the GPU's clock is not believed
	longest      time.Duration   // tick that began after the first second
	shortest     time.Duration
	longestPause time.Duration // between two ticks of a kernel that runs
}

// simulated is a flight.
type simulated struct {
	sighting
	submitted  time.Duration
	began      bool
	over       bool
	start, end time.Duration // once it began
	steps      uint64        // that the host thinks it should do
	does       uint64
	landed     bool
	report     simulatedReport
}

// simulatedReport is what ticks report.
type simulatedReport struct {
	steps uint64
	ticks uint32
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
	m.advance()
	m.budget = steps
	m.now += simulatedTrip
	m.trips++
	m.flights = append(m.flights, simulated{sighting: sighting{at: date(m.now)}, submitted: m.now, steps: steps})
	m.advance()
	return steps
}

// advance has the GPU come to the host's time.
func (m *simulation) advance() {
	for i := range m.flights {
		f := &m.flights[i]
		if !f.began {
			start := max(f.submitted, m.lastEnd)
			if start > m.now {
				return
			}
			m.begin(f, start)
		}
		if m.now < f.end {
			return
		}
		if !f.over {
			f.over = true
			m.reported.steps, m.reported.ticks = m.reported.steps+f.does, m.reported.ticks+1
		}
	}
}

// begin has a flight begin with the budget as it stands.
func (m *simulation) begin(f *simulated, start time.Duration) {
	if m.ticks > 20 {
		m.idle += start - max(m.lastEnd, 0)
		m.longestPause = max(m.longestPause, start-m.lastEnd)
	}
	length := time.Duration(m.budget) * stepTime
	if m.real != nil {
		length = m.real(start, length)
	}
	if start > time.Second {
		if m.longest == 0 {
			m.shortest = length
		}
		m.longest, m.shortest = max(m.longest, length), min(m.shortest, length)
	}
	if m.slice > 0 {
		length = time.Hour // until it is told to end
	}
	f.began, f.start, f.end, f.does = true, start, start+length, m.budget
	m.lastEnd = f.end
}

// look is Session.look.
func (m *simulation) look() {
	looked := m.now
	m.now += simulatedTrip
	m.trips++
	m.advance()
	for i := range m.flights {
		f := &m.flights[i]
		switch {
		case f.landed:
			continue
		case !f.over || m.now < f.end+m.lag:
			f.missed = date(looked)
			return
		}
		f.landed, f.seen, f.report = true, date(m.now), m.reported
		if i+1 < len(m.flights) {
			m.flights[i+1].steps = m.budget
		}
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
	if m.wrong > 0 {
		v.expected = time.Duration(m.wrong * float64(v.expected))
	}
	began := max(m.watch.seen.Sub(date(0)), f.submitted)
	hurried := false
	for first := true; !f.landed; first = false {
		m.advance()
		if !m.shows || m.ahead || m.reported != m.known || v.overdue(m.now-began) || first && v.expected < quickTick {
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
	if f.steps != f.does {
		m.misjudged++
	}
	m.watch.add(f.sighting, work{f.report.steps - m.known.steps, f.steps, f.report.ticks - m.known.ticks, 1})
	m.known = f.report
	m.ahead = len(m.flights) > 0 && m.watch.lead > 0
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
