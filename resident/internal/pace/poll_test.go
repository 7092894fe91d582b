package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitingIsCheap bounds, on a simulated GPU, the wake-ups of the host and its trips
// to the GL thread per second, and the time that the GPU is idle.
func TestWaitingIsCheap(t *testing.T) {
	const length = 60 * time.Second
	for name, c := range map[string]struct {
		simulation
		wakes, trips float64 // a second
		idle         float64 // share of the time
	}{
		"redispatch":            {simulation{depth: 1}, 160, 190, 0.01},
		"redispatch, visible":   {simulation{depth: 1, visible: true}, 160, 50, 0.01},
		"redispatch, clock":     {simulation{depth: 1, visible: true, clock: trueClock}, 160, 50, 0.01},
		"double":                {simulation{depth: 2}, 90, 130, 0},
		"double, visible":       {simulation{depth: 2, visible: true}, 90, 50, 0},
		"double, clock":         {simulation{depth: 2, visible: true, clock: trueClock}, 90, 50, 0},
		"triple":                {simulation{depth: 3}, 90, 130, 0},
		"triple, visible":       {simulation{depth: 3, visible: true}, 90, 50, 0},
		"triple, clock":         {simulation{depth: 3, visible: true, clock: trueClock}, 90, 50, 0},
		"mega":                  {simulation{depth: 1, target: megaTicks * tickTime}, 100, 100, 0.01},
		"mega, clock":           {simulation{depth: 1, target: megaTicks * tickTime, visible: true, clock: trueClock}, 100, 5, 0.01},
		"persistent":            {simulation{depth: 1, slice: sliceTime, visible: true}, 280, 50, 0.01},
		"persistent, clock":     {simulation{depth: 1, slice: sliceTime, visible: true, clock: trueClock}, 280, 50, 0.01},
		"persistent, invisible": {simulation{depth: 1, slice: sliceTime}, 280, 320, 0.01},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.simulation
			m.run(length)
			seconds := m.now.Seconds()
			wakes, trips, idle := float64(m.sleeps)/seconds, float64(m.trips)/seconds, m.idle.Seconds()/seconds
			t.Logf("%d ticks, %.0f sleeps and %.0f trips a second, idle %.2f%%, latest poll %v", m.ticks, wakes, trips, 100*idle, m.latest)
			if wakes > c.wakes || trips > c.trips {
				t.Errorf("%.0f sleeps and %.0f trips a second, of %.0f and %.0f", wakes, trips, c.wakes, c.trips)
			}
			if idle > c.idle {
				t.Errorf("the GPU is idle for %.2f%% of the time", 100*idle)
			}
			if m.ticks < 1000 && c.target == 0 || m.ticks < 50 {
				t.Errorf("%d ticks in %v", m.ticks, m.now)
			}
			if stall := 10 * 2 * time.Millisecond; m.longestPause > stall {
				t.Errorf("nothing ran for %v", m.longestPause)
			}
		})
	}
}

// TestWrongExpectationsCostNoWakeUps has the host expect half to twice the duration of
// covered ticks: it wakes no more often, and the GPU is never idle.
func TestWrongExpectationsCostNoWakeUps(t *testing.T) {
	for _, wrong := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.4, 2} {
		everySimulation(func(m simulation, exact bool) {
			if m.depth == 1 {
				return
			}
			m.wrong = wrong
			m.run(30 * time.Second)
			sleeps, trips := float64(m.sleeps)/m.now.Seconds(), float64(m.trips)/m.now.Seconds()
			if sleeps > 125 || m.visible && trips > 50 || m.idle > 0 {
				t.Errorf("%v of the duration expected, depth %d, visible %v, exact %v: %.0f sleeps and %.0f trips a second, idle for %v",
					wrong, m.depth, m.visible, exact, sleeps, trips, m.idle)
			}
			if m.shortest < tickTime*4/5 || m.longest > tickTime*6/5 {
				t.Errorf("%v of the duration expected, depth %d, visible %v, exact %v: they take %v to %v",
					wrong, m.depth, m.visible, exact, m.shortest, m.longest)
			}
		})
	}
}

// TestPollsCorrectTheExpectation has ticks that end much sooner, or much later, than
// expected.
func TestPollsCorrectTheExpectation(t *testing.T) {
	for _, real := range []time.Duration{300 * time.Microsecond, 5 * time.Millisecond, 200 * time.Millisecond} {
		for _, covered := range []bool{false, true} {
			e := &Estimator{nanos: float64(50 * time.Millisecond)}
			sleeps := 0
			for range 40 {
				p := PollPolicy{Expected: e.Expect(1), Covered: covered}
				at, missed := time.Duration(0), time.Duration(0)
				for sleeps = 0; at < real; sleeps++ {
					missed = at
					at += p.Sleep(at)
				}
				e.Observe(1, Bounds{missed, at})
			}
			if got := e.Expect(1); got < real-real/8 || got > real+real/2 {
				t.Errorf("ticks of %v are expected to take %v", real, got)
			}
			if sleeps > 20+int(real/longestSleep) {
				t.Errorf("%d sleeps in a tick of %v", sleeps, real)
			}
		}
	}
}

// TestSignalsInASliceAreSeenSoon has a persistent tick end by itself.
func TestSignalsInASliceAreSeenSoon(t *testing.T) {
	p := PollPolicy{Expected: sliceTime, Slice: sliceTime}
	for _, end := range []time.Duration{50 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond} {
		at := time.Duration(0)
		for at < end {
			at += p.Sleep(at)
		}
		if late := at - end; late > max(end, 100*time.Microsecond) || late > sliceTime/slicePolls {
			t.Errorf("a tick of %v is seen %v after its end", end, late)
		}
	}
	if d := p.Sleep(sliceTime - time.Millisecond); d != time.Millisecond {
		t.Errorf("1 ms before the end of its slice a sleep takes %v", d)
	}
}

// TestStepsDoneWithinASliceAreSeenSoon has persistent ticks that end by themselves,
// about when expected.
func TestStepsDoneWithinASliceAreSeenSoon(t *testing.T) {
	for _, expected := range []time.Duration{500 * time.Microsecond, 5 * time.Millisecond, 30 * time.Millisecond} {
		p := PollPolicy{Expected: expected, Slice: sliceTime}
		for _, end := range []time.Duration{expected - expected/20, expected, expected + expected/20} {
			at, sleeps := time.Duration(0), 0
			for ; at < end; sleeps++ {
				at += p.Sleep(at)
			}
			if late := at - end; late > max(expected/25, 2*ShortestSleep) || sleeps > 30 {
				t.Errorf("the end of a tick after %v, %v expected, is seen %v later, after %d sleeps", end, expected, late, sleeps)
			}
		}
		if d := p.Sleep(3 * expected); expected < sliceTime/4 && d < lateSleep/4 {
			t.Errorf("a tick of %v that takes three times as long is polled every %v", expected, d)
		}
	}
}

// TestIdleTicksAreSeenSoon has ticks that become idle long before their steps are done,
// as messages cause them.
func TestIdleTicksAreSeenSoon(t *testing.T) {
	p := PollPolicy{Expected: tickTime, Early: true}
	for _, end := range []time.Duration{30 * time.Microsecond, 300 * time.Microsecond, 5 * time.Millisecond} {
		at := time.Duration(0)
		for at < end {
			at += p.Sleep(at)
		}
		if late := at - end; late > max(end, ShortestSleep) {
			t.Errorf("a tick that is idle after %v is seen %v later", end, late)
		}
	}
}

// TestBackoffBoundsWakeUpsAndDelay adds up the wake-ups of a caller that waits for an
// answer of a persistent kernel, and how late it sees the answer.
func TestBackoffBoundsWakeUpsAndDelay(t *testing.T) {
	for _, wait := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 10 * time.Second} {
		sleeps, at := 0, SpinTime
		for ; at < wait; sleeps++ {
			at += max(Backoff(at), time.Millisecond) // the resolution of timers
		}
		if late := at - wait; late > max(wait/backoffShare, time.Millisecond) || late > longestBackoff {
			t.Errorf("an answer after %v is seen %v late", wait, late)
		}
		if most := 30 + int(wait/longestBackoff); sleeps > most {
			t.Errorf("waiting for %v takes %d wake-ups, more than %d", wait, sleeps, most)
		}
	}
}

// waitShort waits as the scheduler does for the end of a short tick, which comes after a
// time. Each sleep is late. It returns the sleeps, the time of the spins, how late the end
// was seen, and whether the host gave up.
func waitShort(p PollPolicy, end, late time.Duration) (sleeps int, spun, seen time.Duration, gaveUp bool) {
	const look = time.Microsecond
	began := time.Now()
	for time.Since(began) < end {
		if !p.Spins(time.Since(began)) {
			return sleeps, spun, 0, true
		}
		if d := p.UntilSpin(time.Since(began)); d > 0 {
			time.Sleep(d + late)
			sleeps++
			continue
		}
		time.Sleep(look)
		spun += look
	}
	return sleeps, spun, time.Since(began) - end, false
}

// TestShortTicksAreSeenBySpinning has short ticks end about when expected: the host spins
// for those that end before a sleep would, sleeps once for what is surely left of others,
// and sees the end at once.
func TestShortTicksAreSeenBySpinning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for expected := 10 * time.Microsecond; expected < InterruptibleSleep; expected += 10 * time.Microsecond {
			for _, factor := range []float64{0.97, 1, 1.1} {
				end := time.Duration(factor * float64(expected))
				sleeps, spun, late, gaveUp := waitShort(PollPolicy{Expected: expected}, end, spinLead-10*time.Microsecond)
				if gaveUp || late > time.Microsecond {
					t.Fatalf("a tick of %v, %v expected, is seen %v late, gave up: %v", end, expected, late, gaveUp)
				}
				want := 0
				if expected-expected/nearShare >= spinLead+worthIt {
					want = 1
				}
				if sleeps != want {
					t.Fatalf("%d sleeps in a tick of %v", sleeps, expected)
				}
				if longest := spinLead + worthIt + expected/nearShare + expected/10; spun > longest {
					t.Fatalf("the host spins %v for a tick of %v, more than %v", spun, expected, longest)
				}
			}
		}
	})
}

// TestCoveredShortTicksAreSleptThrough has another tick queued: the host sleeps to the end.
func TestCoveredShortTicksAreSleptThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = 500 * time.Microsecond
		sleeps, spun, late, _ := waitShort(PollPolicy{Expected: length, Covered: true}, length, 5*time.Microsecond)
		if sleeps != 1 || spun != 0 || late != 5*time.Microsecond {
			t.Errorf("%d sleeps, %v of spins, seen %v late", sleeps, spun, late)
		}
	})
}

// TestSpinsEnd has ticks that take far longer than expected: the host gives up soon.
func TestSpinsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, p := range []PollPolicy{{Expected: 20 * time.Microsecond}, {Expected: 400 * time.Microsecond}, {Expected: time.Hour, Early: true}} {
			began := time.Now()
			_, spun, _, gaveUp := waitShort(p, time.Second, 0)
			if longest := 400 * time.Microsecond; !gaveUp || spun > longest || time.Since(began) > 2*longest {
				t.Errorf("%+v: spins of %v within %v, gave up: %v", p, spun, time.Since(began), gaveUp)
			}
		}
	})
}

// TestLateTimersKeepNoEstimateHigh has ticks of which the host expects six times the duration,
// as after a time on a GPU with a low clock, and timers that round up to milliseconds: what a
// late timer seems to confirm would keep the expectation.
func TestLateTimersKeepNoEstimateHigh(t *testing.T) {
	const length = 1400 * time.Microsecond
	e := &Estimator{nanos: float64(6 * length)}
	for range 40 {
		p := PollPolicy{Expected: e.Expect(1)}
		at, missed := time.Duration(0), time.Duration(0)
		for at < length {
			missed = at
			if d := p.Sleep(at); d < InterruptibleSleep {
				at += d + 5*time.Microsecond
			} else {
				at += (timerTime(d) + time.Millisecond - 1).Truncate(time.Millisecond) + 100*time.Microsecond
			}
		}
		e.Observe(1, Bounds{missed, at})
	}
	if d := e.Expect(1); d > length+length/4 {
		t.Errorf("a tick of %v is expected to take %v", length, d)
	}
}
