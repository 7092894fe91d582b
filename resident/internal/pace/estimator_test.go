package pace

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestEstimatorFindsTheBudget simulates a kernel of 10 us a step, and one whose steps
// slow down to 100 us.
func TestEstimatorFindsTheBudget(t *testing.T) {
	const target = 50 * time.Millisecond
	var e Estimator
	last := uint64(0)
	tick := func(stepTime time.Duration) time.Duration {
		last = e.Budget(target, last)
		d := time.Duration(last) * stepTime
		e.Observe(last, Bounds{d, d})
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
	if d := e.Expect(last); d < 40*time.Millisecond || d > 60*time.Millisecond {
		t.Errorf("a tick is expected to take %v", d)
	}
}

func TestEstimatorBeginsWithoutAnEstimate(t *testing.T) {
	var e Estimator
	e.Observe(0, Bounds{time.Second, time.Second})
	e.Observe(5, Bounds{})
	if b := e.Budget(time.Second, 0); b != firstSteps || e.Known() {
		t.Errorf("first budget %d", b)
	}
	if d := e.Expect(1000); d != 0 {
		t.Errorf("expects %v", d)
	}
}

func TestWarmUpFollowsIdleTime(t *testing.T) {
	for idle, want := range map[time.Duration]time.Duration{0: 1, coldAfter: 1, coldAfter + 1: MaxGrowth} {
		if got := WarmUp(idle); got != want {
			t.Errorf("divisor %d after %v, not %d", got, idle, want)
		}
	}
}

// TestEstimatorFollowsAGPUThatWarmsUp has a simulated GPU get six times as fast within
// a second.
func TestEstimatorFollowsAGPUThatWarmsUp(t *testing.T) {
	warming := func(now, nominal time.Duration) time.Duration {
		return time.Duration(float64(nominal) * max(1, 6-5*now.Seconds()))
	}
	for depth := 1; depth <= 3; depth++ {
		m := simulation{depth: depth, real: warming}
		m.run(3 * time.Second)
		if got := m.estimator.Expect(1); got < stepTime-stepTime/10 || got > stepTime+stepTime/4 {
			t.Errorf("depth %d: a step of %v is expected to take %v", depth, stepTime, got)
		}
	}
}

// TestEstimatorIsStableWhenTheHostOversleeps has the host oversleep repeatedly, so that
// it finds several submissions ended at once: ticks keep their length.
func TestEstimatorIsStableWhenTheHostOversleeps(t *testing.T) {
	everySimulation(func(base simulation, exact bool) {
		for every := 3; every < 200; every *= 3 {
			for _, by := range []time.Duration{5, 30, 70, 120, 400} {
				m := base
				m.lag = time.Duration(every) * 10 * time.Microsecond
				m.late = func(sleep int) time.Duration {
					if sleep%every == 0 {
						return by * time.Millisecond
					}
					return 0
				}
				m.run(15 * time.Second)
				// Without timestamps, a tick may have taken as long as the host did not
				// poll.
				least := tickTime / 4
				if exact && by < 400 { // else no poll is close enough for the timestamps to be trusted
					least = tickTime * 9 / 10
				}
				if m.longest > tickTime*3/2 || m.longest < least {
					t.Errorf("depth %d, visible %v, exact %v, every %d sleeps late by %d ms: the longest of %d ticks took %v",
						m.depth, m.visible, exact, every, by, m.ticks, m.longest)
				}
			}
		}
	})
}

// TestEstimatorRecovers begins with an estimate that is wrong by ten times, and changes
// the speed of the GPU by six times from one tick to the next.
func TestEstimatorRecovers(t *testing.T) {
	const change = 5 * time.Second
	for name, c := range map[string]struct {
		estimate time.Duration // of a step, at first
		factor   float64       // of all steps after change
	}{
		"ten times too long":  {10 * stepTime, 1},
		"ten times too short": {stepTime / 10, 1},
		"faster":              {0, 1. / 6},
		"slower":              {0, 6},
	} {
		everySimulation(func(m simulation, exact bool) {
			m.estimator.nanos = float64(c.estimate)
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
			if longest > 2*tickTime || shortest < tickTime/2 {
				t.Errorf("%s, depth %d, visible %v, exact %v: ticks took %v to %v", name, m.depth, m.visible, exact, shortest, longest)
			}
			if m.longestPause > 20*time.Millisecond {
				t.Errorf("%s, depth %d, visible %v, exact %v: nothing ran for %v", name, m.depth, m.visible, exact, m.longestPause)
			}
		})
	}
}

// TestQueuedTicksReachTheirTarget has a GPU whose step time varies. A queued tick uses
// the budget of the newest submission. A second after a change all ticks have their
// target length, without more submissions and wake-ups than needed.
func TestQueuedTicksReachTheirTarget(t *testing.T) {
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
		everySimulation(func(m simulation, exact bool) {
			label := fmt.Sprintf("%s, depth %d, visible %v, exact %v", name, m.depth, m.visible, exact)
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
			sleeps, trips := float64(m.sleeps)/m.now.Seconds(), float64(m.trips)/m.now.Seconds()
			t.Logf("%s: ticks of %v to %v, %d of %d mispredicted, %.0f sleeps and %.0f trips a second",
				label, shortest, longest, m.mispredicted, m.ticks, sleeps, trips)
			if shortest < tickTime*9/10 || longest > tickTime*11/10 {
				t.Errorf("%s: ticks took %v to %v", label, shortest, longest)
			}
			if m.mispredicted > 1 { // the first ticks end before the host polls
				t.Errorf("%s: %d of %d ticks were expected to do other steps", label, m.mispredicted, m.ticks)
			}
			if m.depth > 1 && (sleeps > 100 || m.visible && trips > 50) {
				t.Errorf("%s: %.0f sleeps and %.0f trips a second", label, sleeps, trips)
			}
		})
	}
}

// TestStatusBeforeItsFence has the host poll between a status and its fence, so that
// the status of one submission includes the work of the next.
func TestStatusBeforeItsFence(t *testing.T) {
	everySimulation(func(base simulation, exact bool) {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 0))
			m := base
			m.lag = 3 * time.Millisecond
			m.late = func(int) time.Duration {
				if random.IntN(5) > 0 {
					return 0
				}
				return time.Duration(random.Int64N(int64(120 * time.Millisecond)))
			}
			m.run(15 * time.Second)
			if exact && m.distrusted > 0 {
				t.Errorf("depth %d, visible %v, seed %d: timestamps are not used for %d ticks", m.depth, m.visible, seed, m.distrusted)
			}
			if m.longest > tickTime*3/2 || m.longest < tickTime/4 {
				t.Errorf("depth %d, visible %v, exact %v, seed %d: the longest of %d ticks took %v", m.depth, m.visible, exact, seed, m.ticks, m.longest)
			}
		}
	})
}

// TestShortLastTicksRaiseNoEstimate has runs of equal ticks and a last one with a single
// step, which takes little less than it takes to start one, or as long as the host was
// not running. Then it has such ticks only.
func TestShortLastTicksRaiseNoEstimate(t *testing.T) {
	const steps, step, start = 122, 500 * time.Nanosecond, 18 * time.Microsecond
	var e Estimator
	tick := func(n uint64, late time.Duration) {
		d := start + time.Duration(n)*step + late
		e.Observe(n, Bounds{d - time.Microsecond, d})
		if d := e.Expect(steps); d < steps*step || d > start+steps*step {
			t.Fatalf("a tick of %v is expected to take %v", start+steps*step, d)
		}
	}
	for range 5 {
		for range 20 {
			tick(steps, 0)
		}
		tick(1, 0)
		tick(1, 300*time.Microsecond)
	}
	for range 20 {
		tick(1, 0)
	}
}

// TestShortTicksRaiseTheEstimateInTheEnd has long ticks, and then short ones whose steps
// take a hundred times as long.
func TestShortTicksRaiseTheEstimateInTheEnd(t *testing.T) {
	var e Estimator
	e.Observe(1000, Bounds{10 * time.Millisecond, 10 * time.Millisecond})
	for range 12 {
		e.Observe(1, Bounds{time.Millisecond, time.Millisecond})
	}
	if d := e.Expect(1); d < 900*time.Microsecond || d > time.Millisecond {
		t.Errorf("a step of 1 ms is expected to take %v", d)
	}
}
