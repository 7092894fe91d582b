package resident

import (
	"testing"
	"time"
)

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
		"double":             {simulation{depth: 2}, 90, 130, 0},
		"double, shown":      {simulation{depth: 2, shows: true}, 90, 50, 0},
		"double, clock":      {simulation{depth: 2, shows: true, clock: trueClock}, 90, 50, 0},
		"triple":             {simulation{depth: 3}, 90, 130, 0},
		"triple, shown":      {simulation{depth: 3, shows: true}, 90, 50, 0},
		"triple, clock":      {simulation{depth: 3, shows: true, clock: trueClock}, 90, 50, 0},
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

// TestWaitingIsCheapWhateverIsExpected has the host expect of ticks that another one
// covers up to twice, or down to half of what they take: it wakes no more often, and
// the GPU always has something to do.
func TestWaitingIsCheapWhateverIsExpected(t *testing.T) {
	for _, wrong := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.4, 2} {
		everyForm(func(m simulation, exact bool) {
			if m.depth == 1 {
				return
			}
			m.wrong = wrong
			m.run(30 * time.Second)
			naps, trips := float64(m.naps)/m.now.Seconds(), float64(m.trips)/m.now.Seconds()
			if naps > 110 || m.shows && trips > 50 || m.idle > 0 {
				t.Errorf("%v of what ticks take is expected, depth %d, shown %v, exact %v: %.0f naps and %.0f trips a second, idle for %v",
					wrong, m.depth, m.shows, exact, naps, trips, m.idle)
			}
			if m.shortest < defaultTickTime*4/5 || m.longest > defaultTickTime*6/5 {
				t.Errorf("%v of what ticks take is expected, depth %d, shown %v, exact %v: they take %v to %v",
					wrong, m.depth, m.shows, exact, m.shortest, m.longest)
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

// TestStepsDoneWithinASliceAreSoonNoticed has persistent ticks that end by themselves,
// about when it was expected of them.
func TestStepsDoneWithinASliceAreSoonNoticed(t *testing.T) {
	for _, expected := range []time.Duration{500 * time.Microsecond, 5 * time.Millisecond, 30 * time.Millisecond} {
		v := vigil{expected: expected, slice: defaultSlice}
		for _, end := range []time.Duration{expected - expected/20, expected, expected + expected/20} {
			at, naps := time.Duration(0), 0
			for ; at < end; naps++ {
				at += v.nap(at)
			}
			if late := at - end; late > max(expected/25, 2*shortestNap) || naps > 30 {
				t.Errorf("the end of a tick after %v, %v expected, is noticed %v later, after %d naps", end, expected, late, naps)
			}
		}
		if d := v.nap(3 * expected); expected < defaultSlice/4 && d < lateNap/4 {
			t.Errorf("a tick of %v that takes three times as long is looked at every %v", expected, d)
		}
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
