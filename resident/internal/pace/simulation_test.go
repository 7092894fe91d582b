package pace

import "time"

// Costs on the simulated host.
const (
	simulatedTrip      = 60 * time.Microsecond // to the GL thread and back
	simulatedTimerLate = 700 * time.Microsecond
)

// Defaults of resident.Options.
const (
	tickTime  = 50 * time.Millisecond
	sliceTime = 50 * time.Millisecond
	megaTicks = 20
)

// simulation is a scheduler and its GPU in simulated time. Submissions run in order,
// each with the budget that is the newest when it begins. The host does what the
// scheduler's wait does.
type simulation struct {
	depth   int
	target  time.Duration // 0: the default of a tick
	slice   time.Duration
	visible bool                                           // mapped memory shows the end of a tick
	clock   func(f simulated) (begin, end time.Duration)   // of the GPU; nil: none
	real    func(now, nominal time.Duration) time.Duration // duration of a tick
	late    func(sleep int) time.Duration                  // oversleeping of the host
	lag     time.Duration                                  // from a status to its fence
	wrong   float64                                        // factor of the expected duration; 0: 1

	now           time.Duration
	budget        uint64 // in mapped memory
	submissions   []simulated
	timer         TickTimer
	estimator     Estimator
	idle          time.Duration // of the GPU
	ticks         int
	sleeps, trips int
	latest        time.Duration   // delay between an end and the poll that found it
	lastEnd       time.Duration   // of the ticks that began
	current       simulatedStatus // in mapped memory
	known         simulatedStatus // that was read last
	mispredicted  int             // submissions whose steps differ from those the host waited for
	distrusted    int             // submissions after the first second whose timestamps are not used
	longest       time.Duration   // of the ticks that began after the first second
	shortest      time.Duration
	longestPause  time.Duration // between two ticks of a kernel that runs
}

// simulated is a submission.
type simulated struct {
	Sample
	submitted  time.Duration
	begun      bool
	over       bool
	start, end time.Duration // valid once begun
	steps      uint64        // that the host expects it to do
	does       uint64
	done       bool
	status     simulatedStatus
}

// simulatedStatus is the status in mapped memory.
type simulatedStatus struct {
	steps uint64
	ticks uint32
}

// stepTime is a step of the simulated kernel.
const stepTime = 10 * time.Microsecond

// clockOffset is the difference between the GPU's clock and the host's.
const clockOffset = 77 * time.Hour

// trueClock returns timestamps as a GPU does.
func trueClock(f simulated) (begin, end time.Duration) {
	return clockOffset + f.start, clockOffset + f.end
}

// callClock returns the time of the calls, as software drivers do.
func callClock(f simulated) (begin, end time.Duration) {
	return clockOffset + f.submitted, clockOffset + f.submitted + 5*time.Microsecond
}

// date returns the host's clock at a simulated time.
func date(d time.Duration) time.Time { return time.Unix(1_000_000, 0).Add(d) }

// submit queues a submission on the GPU.
func (m *simulation) submit(last uint64) uint64 {
	target := m.target
	if target == 0 {
		target = tickTime
	}
	steps := m.estimator.Budget(target, last)
	m.advance()
	m.budget = steps
	m.now += simulatedTrip
	m.trips++
	m.submissions = append(m.submissions, simulated{Sample: Sample{Submitted: date(m.now)}, submitted: m.now, steps: steps})
	m.advance()
	return steps
}

// advance runs the GPU up to the host's time.
func (m *simulation) advance() {
	for i := range m.submissions {
		f := &m.submissions[i]
		if !f.begun {
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
			m.current.steps, m.current.ticks = m.current.steps+f.does, m.current.ticks+1
		}
	}
}

// begin starts a submission with the current budget.
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
		length = time.Hour // until its end is requested
	}
	f.begun, f.start, f.end, f.does = true, start, start+length, m.budget
	m.lastEnd = f.end
}

// poll does what scheduler.pollFences does.
func (m *simulation) poll() {
	polled := m.now
	m.now += simulatedTrip
	m.trips++
	m.advance()
	for i := range m.submissions {
		f := &m.submissions[i]
		switch {
		case f.done:
			continue
		case !f.over || m.now < f.end+m.lag:
			f.Missed = date(polled)
			return
		}
		f.done, f.Seen, f.status = true, date(m.now), m.current
		if i+1 < len(m.submissions) {
			m.submissions[i+1].steps = m.budget
		}
		m.latest = max(m.latest, m.now-f.end)
		if m.clock != nil {
			f.Begin, f.End = m.clock(*f)
		}
	}
}

// wait does what scheduler.waitSubmission does.
func (m *simulation) wait() {
	f := &m.submissions[0]
	p := PollPolicy{Expected: m.estimator.Expect(f.steps), Slice: m.slice, Covered: len(m.submissions) > 1}
	if m.slice > 0 {
		p.Expected = m.slice
	}
	if m.wrong > 0 {
		p.Expected = time.Duration(m.wrong * float64(p.Expected))
	}
	began := max(m.timer.seen.Sub(date(0)), f.submitted)
	stopRequested := false
	for first := true; !f.done; first = false {
		m.advance()
		if !m.visible || int(m.current.ticks) != m.ticks || p.Overdue(m.now-began) || first && p.Expected < ShortTick {
			if m.poll(); f.done {
				break
			}
		} else {
			f.Missed = date(m.now)
		}
		if gone := m.now - began; m.slice > 0 && gone >= m.slice && !stopRequested {
			stopRequested = true
			f.end = m.now + 30*time.Microsecond
			m.lastEnd = f.end
		}
		if stopRequested {
			m.now += time.Microsecond // polls without a sleep
			continue
		}
		m.sleep(p.Sleep(m.now - began))
	}
	m.complete()
}

// sleep does what Sleep does.
func (m *simulation) sleep(d time.Duration) {
	m.sleeps++
	if d >= InterruptibleSleep {
		d = timerTime(d) + simulatedTimerLate
	}
	m.now += d + ShortestSleep
	if m.late != nil {
		m.now += m.late(m.sleeps)
	}
}

// complete does what scheduler.completeOldest does.
func (m *simulation) complete() {
	f := m.submissions[0]
	m.submissions = m.submissions[1:]
	m.ticks++
	if f.steps != f.does {
		m.mispredicted++
	}
	m.timer.Observe(f.Sample, Work{f.status.steps - m.known.steps, f.steps, int(f.status.ticks) > m.ticks})
	m.known = f.status
	if len(m.submissions) > 0 && m.submissions[0].done && m.submissions[0].status == f.status {
		return
	}
	steps, took, _ := m.timer.Take()
	m.estimator.Observe(steps, took)
	if m.timer.trusted < 0 && m.now > time.Second {
		m.distrusted++
	}
}

// run simulates a span of time.
func (m *simulation) run(d time.Duration) {
	last := uint64(0)
	for m.now < d {
		for len(m.submissions) < max(m.depth, 1) {
			last = m.submit(last)
		}
		m.wait()
	}
}

// clocks lists GPU clocks by whether they are exact.
var clocks = map[bool][]func(simulated) (time.Duration, time.Duration){
	true:  {trueClock},
	false: {nil, callClock},
}

// everySimulation calls check with simulations of each depth, with exact and other
// timestamps, with and without a status that is visible in mapped memory.
func everySimulation(check func(m simulation, exact bool)) {
	for depth := 1; depth <= 3; depth++ {
		for _, visible := range []bool{false, true} {
			for exact, list := range clocks {
				for _, clock := range list {
					check(simulation{depth: depth, visible: visible, clock: clock}, exact)
				}
			}
		}
	}
}
