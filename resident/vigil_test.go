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
	slice time.Duration
	shows bool                                           // mapped memory shows when a tick has ended
	real  func(now, nominal time.Duration) time.Duration // what a tick of so many steps takes

	now          time.Duration
	reached      time.Duration
	ends         []time.Duration // of the ticks under way
	begun        []time.Duration
	steps        []uint64
	pace         pace
	idle         time.Duration // of the GPU
	ticks        int
	naps, trips  int
	latest       time.Duration // that an end was noticed after it
	lastEnd      time.Duration
	longestPause time.Duration // between two beats of a kernel that runs
}

// stepTime is a step of the simulated kernel.
const stepTime = 10 * time.Microsecond

// submit has the GPU begin when it is done with what it has.
func (m *simulation) submit(last uint64) uint64 {
	steps := m.pace.budget(defaultTickTime, last)
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
	if m.slice > 0 {
		length = time.Hour // until it is told to end
	}
	m.lastEnd = begin + length
	m.begun, m.ends, m.steps = append(m.begun, m.now), append(m.ends, m.lastEnd), append(m.steps, steps)
	return steps
}

// await is Session.await.
func (m *simulation) await() {
	v := vigil{expected: m.pace.expect(m.steps[0]), slice: m.slice, covered: len(m.ends) > 1}
	if m.slice > 0 {
		v.expected = m.slice
	}
	began := max(m.reached, m.begun[0])
	hurried := false
	for ask := v.covered || v.expected < quickTick || !m.shows; ; ask = !m.shows || m.now >= m.ends[0] || v.overdue(m.now-began) {
		if ask {
			m.now += simulatedTrip
			m.trips++
			if m.now >= m.ends[0] {
				break
			}
		}
		if gone := m.now - began; m.slice > 0 && gone >= m.slice && !hurried {
			hurried = true
			m.ends[0] = m.now + 30*time.Microsecond
			m.lastEnd = m.ends[0]
		}
		if hurried {
			m.now += time.Microsecond // looks without a nap
			continue
		}
		d := v.nap(m.now - began)
		m.naps++
		m.now += d + shortestNap
		if d >= interruptibleNap {
			m.now += simulatedOver
		}
	}
	m.latest = max(m.latest, m.now-m.ends[0])
	m.pace.note(m.steps[0], m.now-began, v.covered)
	m.reached = m.now
	m.ends, m.begun, m.steps = m.ends[1:], m.begun[1:], m.steps[1:]
	m.ticks++
}

// run simulates so much time.
func (m *simulation) run(d time.Duration) {
	last := uint64(0)
	for m.now < d {
		for len(m.ends) < max(m.depth, 1) {
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
		"redispatch":         {simulation{depth: 1}, 160, 180, 0.01},
		"redispatch, shown":  {simulation{depth: 1, shows: true}, 160, 50, 0.01},
		"double":             {simulation{depth: 2}, 100, 140, 0},
		"double, shown":      {simulation{depth: 2, shows: true}, 100, 70, 0},
		"triple":             {simulation{depth: 3}, 100, 140, 0},
		"triple, shown":      {simulation{depth: 3, shows: true}, 100, 70, 0},
		"persistent":         {simulation{depth: 1, slice: defaultSlice, shows: true}, 280, 50, 0.01},
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
			if m.ticks < 1000 {
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
				at := time.Duration(0)
				for naps = 0; at < real; naps++ {
					at += v.nap(at)
				}
				p.note(1, at, covered)
			}
			if got := p.expect(1); got < real || got > real+real/2 {
				t.Errorf("ticks of %v are expected to take %v", real, got)
			}
			if naps > 20 {
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
