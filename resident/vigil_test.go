package resident

import (
	"testing"
	"time"
)

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

	now          time.Duration
	flights      []simulated
	watch        stopwatch
	pace         pace
	idle         time.Duration // of the GPU
	ticks        int
	naps, trips  int
	latest       time.Duration // that an end was noticed after it
	lastEnd      time.Duration
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
		case m.now < f.end:
			f.missed = date(looked)
			return
		}
		f.landed, f.seen = true, date(m.now)
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
		if !m.shows || m.now >= f.end || v.overdue(m.now-began) || first && v.expected < quickTick {
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
	m.watch.add(f.sighting, f.steps, f.steps)
	if len(m.flights) == 0 || !m.flights[0].landed {
		steps, took, _ := m.watch.take()
		m.pace.note(steps, took)
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

// TestWaitingIsCheap counts, on a simulated GPU, how often the host wakes in a
// second and goes to the GL thread, and how long the GPU has nothing to do.
func TestWaitingIsCheap(t *testing.T) {
	const length = 60 * time.Second
	for name, c := range map[string]struct {
		simulation
		wakes, trips float64 // a second
		idle         float64 // share of the time
	}{
		"redispatch":         {simulation{depth: 1}, 160, 190, 0.01},
		"redispatch, shown":  {simulation{depth: 1, shows: true}, 160, 50, 0.01},
		"redispatch, clock":  {simulation{depth: 1, shows: true, clock: trueClock}, 160, 50, 0.01},
		"double":             {simulation{depth: 2}, 110, 150, 0},
		"double, shown":      {simulation{depth: 2, shows: true}, 110, 50, 0},
		"double, clock":      {simulation{depth: 2, shows: true, clock: trueClock}, 110, 50, 0},
		"triple":             {simulation{depth: 3}, 110, 150, 0},
		"triple, shown":      {simulation{depth: 3, shows: true}, 110, 50, 0},
		"triple, clock":      {simulation{depth: 3, shows: true, clock: trueClock}, 110, 50, 0},
		"mega":               {simulation{depth: 1, aim: megaTicks * defaultTickTime}, 100, 100, 0.01},
		"mega, clock":        {simulation{depth: 1, aim: megaTicks * defaultTickTime, shows: true, clock: trueClock}, 100, 5, 0.01},
		"persistent":         {simulation{depth: 1, slice: defaultSlice, shows: true}, 280, 50, 0.01},
		"persistent, clock":  {simulation{depth: 1, slice: defaultSlice, shows: true, clock: trueClock}, 280, 50, 0.01},
		"persistent, unseen": {simulation{depth: 1, slice: defaultSlice}, 280, 320, 0.01},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.simulation
			m.run(length)
			seconds := m.now.Seconds()
			wakes, trips, idle := float64(m.naps)/seconds, float64(m.trips)/seconds, m.idle.Seconds()/seconds
			t.Logf("%d ticks, %.0f naps and %.0f trips a second, idle %.2f%%, latest notice %v", m.ticks, wakes, trips, 100*idle, m.latest)
			if wakes > c.wakes || trips > c.trips {
				t.Errorf("%.0f naps and %.0f trips a second, of %.0f and %.0f", wakes, trips, c.wakes, c.trips)
			}
			if idle > c.idle {
				t.Errorf("the GPU has nothing to do for %.2f%% of the time", 100*idle)
			}
			if m.ticks < 1000 && c.aim == 0 || m.ticks < 50 {
				t.Errorf("%d ticks in %v", m.ticks, m.now)
			}
			if stall := 10 * 2 * time.Millisecond; m.longestPause > stall {
				t.Errorf("nothing ran for %v", m.longestPause)
			}
		})
	}
}

// TestLooksFindOutThatTicksAreShort has ticks that are over much sooner, or much
// later, than is expected of them.
func TestLooksFindOutThatTicksAreShort(t *testing.T) {
	for _, real := range []time.Duration{300 * time.Microsecond, 5 * time.Millisecond, 200 * time.Millisecond} {
		for _, covered := range []bool{false, true} {
			p := &pace{nanos: float64(50 * time.Millisecond)}
			naps := 0
			for range 40 {
				v := vigil{expected: p.expect(1), covered: covered}
				at, missed := time.Duration(0), time.Duration(0)
				for naps = 0; at < real; naps++ {
					missed = at
					at += v.nap(at)
				}
				p.note(1, span{missed, at})
			}
			if got := p.expect(1); got < real-real/8 || got > real+real/2 {
				t.Errorf("ticks of %v are expected to take %v", real, got)
			}
			if naps > 20+int(real/longestNap) {
				t.Errorf("%d naps in a tick of %v", naps, real)
			}
		}
	}
}

// TestSignalsOfASliceAreSoonNoticed has a persistent tick end by itself.
func TestSignalsOfASliceAreSoonNoticed(t *testing.T) {
	v := vigil{expected: defaultSlice, slice: defaultSlice}
	for _, end := range []time.Duration{50 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond} {
		at := time.Duration(0)
		for at < end {
			at += v.nap(at)
		}
		if late := at - end; late > max(end, 100*time.Microsecond) || late > defaultSlice/sliceLooks {
			t.Errorf("a tick of %v is noticed %v after its end", end, late)
		}
	}
	if d := v.nap(defaultSlice - time.Millisecond); d != time.Millisecond {
		t.Errorf("1 ms before the end of its slice a nap takes %v", d)
	}
}

// TestIdleTicksAreSoonNoticed has ticks that become idle long before their steps
// are done, one after the other, as messages cause them.
func TestIdleTicksAreSoonNoticed(t *testing.T) {
	v := vigil{expected: defaultTickTime, early: true}
	for _, end := range []time.Duration{30 * time.Microsecond, 300 * time.Microsecond, 5 * time.Millisecond} {
		at := time.Duration(0)
		for at < end {
			at += v.nap(at)
		}
		if late := at - end; late > max(end, shortestNap) {
			t.Errorf("a tick that is idle after %v is noticed %v later", end, late)
		}
	}
}

// TestPaceFollowsAGPUThatWarmsUp has a simulated GPU get six times as fast within
// a second, as one does that slept.
func TestPaceFollowsAGPUThatWarmsUp(t *testing.T) {
	warming := func(now, nominal time.Duration) time.Duration {
		return time.Duration(float64(nominal) * max(1, 6-5*now.Seconds()))
	}
	for depth := 1; depth <= 3; depth++ {
		m := simulation{depth: depth, real: warming}
		m.run(3 * time.Second)
		if got := m.pace.expect(1); got < stepTime-stepTime/10 || got > stepTime+stepTime/4 {
			t.Errorf("depth %d: a step of %v is expected to take %v", depth, stepTime, got)
		}
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

// TestPaceDoesNotRunAway has a host that oversleeps again and again, so that it
// finds the ends of several flights at once: ticks stay as long as they should be.
func TestPaceDoesNotRunAway(t *testing.T) {
	everyForm(func(form simulation, exact bool) {
		for every := 3; every < 200; every *= 3 {
			for _, by := range []time.Duration{5, 30, 70, 120, 400} {
				m := form
				m.late = func(nap int) time.Duration {
					if nap%every == 0 {
						return by * time.Millisecond
					}
					return 0
				}
				m.run(15 * time.Second)
				// Where the host alone tells the time, a tick may have taken as long as nobody looked.
				least := defaultTickTime / 4
				if exact && by < 400 { // else nobody ever looks closely enough to believe the clock
					least = defaultTickTime * 9 / 10
				}
				if m.longest > defaultTickTime*3/2 || m.longest < least {
					t.Errorf("depth %d, shown %v, exact %v, every %d naps late by %d ms: the longest of %d ticks took %v",
						m.depth, m.shows, exact, every, by, m.ticks, m.longest)
				}
			}
		}
	})
}

// TestPaceMendsItself begins with an expectation that is wrong by ten times, and has
// the GPU become six times as fast, or as slow, from one tick to the next.
func TestPaceMendsItself(t *testing.T) {
	const change = 5 * time.Second
	for name, c := range map[string]struct {
		believed time.Duration // of a step, at first
		factor   float64       // of all steps after change
	}{
		"ten times too long":  {10 * stepTime, 1},
		"ten times too short": {stepTime / 10, 1},
		"faster":              {0, 1. / 6},
		"slower":              {0, 6},
	} {
		everyForm(func(m simulation, exact bool) {
			m.pace.nanos = float64(c.believed)
			shortest, longest := time.Hour, time.Duration(0)
			m.real = func(now, nominal time.Duration) time.Duration {
				if now > change {
					nominal = time.Duration(float64(nominal) * c.factor)
				}
				if now > time.Second && now < change || now > change+time.Second {
					shortest, longest = min(shortest, nominal), max(longest, nominal)
				}
				return nominal
			}
			m.run(10 * time.Second)
			if longest > 2*defaultTickTime || shortest < defaultTickTime/2 {
				t.Errorf("%s, depth %d, shown %v, exact %v: ticks took %v to %v", name, m.depth, m.shows, exact, shortest, longest)
			}
			if m.longestPause > 20*time.Millisecond {
				t.Errorf("%s, depth %d, shown %v, exact %v: nothing ran for %v", name, m.depth, m.shows, exact, m.longestPause)
			}
		})
	}
}
