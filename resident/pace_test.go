package resident

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestPaceFindsTheBudget simulates a kernel of 10 us a step, and one that slows
// down to 100 us.
func TestPaceFindsTheBudget(t *testing.T) {
	const target = 50 * time.Millisecond
	var p pace
	last := uint64(0)
	tick := func(each time.Duration) time.Duration {
		last = p.budget(target, last)
		d := time.Duration(last) * each
		p.note(last, span{d, d})
		return d
	}
	for n := range 12 {
		if d := tick(10 * time.Microsecond); d > target {
			t.Fatalf("tick %d took %v", n, d)
		}
	}
	if last != 5000 {
		t.Errorf("budget of %d steps of 10 us, not 5000", last)
	}
	for range 12 {
		tick(100 * time.Microsecond)
	}
	if last < 450 || last > 600 {
		t.Errorf("budget of %d steps of 100 us, not about 500", last)
	}
	if d := p.expect(last); d < 40*time.Millisecond || d > 60*time.Millisecond {
		t.Errorf("a tick is expected to take %v", d)
	}
}

func TestPaceKnowsNothingAtFirst(t *testing.T) {
	var p pace
	p.note(0, span{time.Second, time.Second})
	p.note(5, span{})
	if b := p.budget(time.Second, 0); b != firstSteps {
		t.Errorf("first budget %d", b)
	}
	if d := p.expect(1000); d != 0 {
		t.Errorf("expects %v", d)
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

// TestPaceDoesNotRunAway has a host that oversleeps again and again, so that it
// finds the ends of several flights at once: ticks stay as long as they should be.
func TestPaceDoesNotRunAway(t *testing.T) {
	everyForm(func(form simulation, exact bool) {
		for every := 3; every < 200; every *= 3 {
			for _, by := range []time.Duration{5, 30, 70, 120, 400} {
				m := form
				m.lag = time.Duration(every) * 10 * time.Microsecond
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

// TestQueuedTicksComeToTheirAim has a GPU whose steps do not always take the same:
// ticks that wait do what submissions say that came later, and a second afterwards are
// as long as they should be all the same, without more of them, and of wakes, than
// there need be.
func TestQueuedTicksComeToTheirAim(t *testing.T) {
	for name, c := range map[string]struct {
		until  time.Duration
		factor func(now time.Duration, random *rand.Rand) float64
	}{
		"steady":   {0, func(time.Duration, *rand.Rand) float64 { return 1 }},
		"uneven":   {0, func(_ time.Duration, r *rand.Rand) float64 { return 1 + 0.04*r.Float64() }},
		"warms up": {time.Second, func(now time.Duration, _ *rand.Rand) float64 { return max(1, 6-5*now.Seconds()) }},
		"slow for a while": {2100 * time.Millisecond, func(now time.Duration, _ *rand.Rand) float64 {
			if now > 2*time.Second && now < 2100*time.Millisecond {
				return 4
			}
			return 1
		}},
	} {
		everyForm(func(m simulation, exact bool) {
			form := fmt.Sprintf("%s, depth %d, shown %v, exact %v", name, m.depth, m.shows, exact)
			random := rand.New(rand.NewPCG(1, 2))
			shortest, longest := time.Hour, time.Duration(0)
			m.real = func(now, nominal time.Duration) time.Duration {
				length := time.Duration(float64(nominal) * c.factor(now, random))
				if now > c.until+time.Second {
					shortest, longest = min(shortest, length), max(longest, length)
				}
				return length
			}
			m.run(12 * time.Second)
			naps, trips := float64(m.naps)/m.now.Seconds(), float64(m.trips)/m.now.Seconds()
			t.Logf("%s: ticks of %v to %v, %d of %d misjudged, %.0f naps and %.0f trips a second",
				form, shortest, longest, m.misjudged, m.ticks, naps, trips)
			if shortest < defaultTickTime*9/10 || longest > defaultTickTime*11/10 {
				t.Errorf("%s: ticks took %v to %v", form, shortest, longest)
			}
			if m.misjudged > 1 { // as the GPU is faster than the host at the very beginning
				t.Errorf("%s: %d of %d ticks were expected to do other steps", form, m.misjudged, m.ticks)
			}
			if m.depth > 1 && (naps > 100 || m.shows && trips > 50) {
				t.Errorf("%s: %.0f naps and %.0f trips a second", form, naps, trips)
			}
		})
	}
}

// TestReportsThatComeBeforeTheirFences has the host look just then: what it takes for
// the report of one flight is that of the next, too.
func TestReportsThatComeBeforeTheirFences(t *testing.T) {
	everyForm(func(form simulation, exact bool) {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 0))
			m := form
			m.lag = 3 * time.Millisecond
			m.late = func(int) time.Duration {
				if random.IntN(5) > 0 {
					return 0
				}
				return time.Duration(random.Int64N(int64(120 * time.Millisecond)))
			}
			m.run(15 * time.Second)
			if exact && m.disbelieved > 0 {
				t.Errorf("depth %d, shown %v, seed %d: the GPU's clock is not believed %d times", m.depth, m.shows, seed, m.disbelieved)
			}
			if m.longest > defaultTickTime*3/2 || m.longest < defaultTickTime/4 {
				t.Errorf("depth %d, shown %v, exact %v, seed %d: the longest of %d ticks took %v", m.depth, m.shows, exact, seed, m.ticks, m.longest)
			}
		}
	})
}
