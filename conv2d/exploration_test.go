package conv2d

import (
	"math/rand/v2"
	"testing"
	"time"
)

// simulate makes runs of variants with these times and returns their total time and what
// runs of variant 0 alone would have taken.
func simulate(x *exploration, times []time.Duration, prepare time.Duration, runs int, wrong ...int) (total, alone time.Duration) {
	random := rand.New(rand.NewPCG(1, 2))
	for range runs {
		n, due := x.next()
		if due {
			right := true
			for _, w := range wrong {
				right = right && w != n
			}
			x.prepared(n, prepare, right)
			total += prepare
			if !right {
				n = x.best
			}
		}
		took := times[n] + time.Duration(random.Int64N(int64(times[n])/50+1)) // 2 % of noise
		x.ran(n, took)
		total += took
		alone += times[0]
	}
	return total, alone
}

// Whatever the others cost, exploring adds no more than the share, and the last thing that
// took longer than expected.
func TestExploringCostsTheShareAtMost(t *testing.T) {
	const prepare = 40 * time.Millisecond
	for _, share := range []float64{0.01, 0.1, 0.3} {
		for name, times := range map[string][]time.Duration{
			"all are slower":    {1e6, 2e6, 50e6, 1.01e6, 3e6},
			"far slower":        {1e6, 1e9, 1e9},
			"about the same":    {1e6, 1e6, 1.02e6},
			"one is the best":   {5e6, 6e6, 1e6},
			"two are better":    {5e6, 2e6, 1e6, 9e6},
			"there is no other": {1e6},
		} {
			for _, runs := range []int{10, 100, 1000, 20_000} {
				x := newExploration(share, len(times), prepare)
				total, alone := simulate(x, times, prepare, runs)
				most := time.Duration(0)
				for _, took := range times {
					most = max(most, took)
				}
				limit := time.Duration((1+share)*1.02*float64(alone)) + most + prepare
				if total > limit {
					t.Errorf("share %g, %s, %d runs: %v, alone %v, limit %v", share, name, runs, total, alone, limit)
				}
			}
		}
	}
}

func TestExplorationFindsTheBest(t *testing.T) {
	times := []time.Duration{5e6, 6e6, 1e6, 3e6}
	x := newExploration(0.1, len(times), time.Millisecond)
	simulate(x, times, time.Millisecond, 5000)
	if x.best != 2 || !x.done() {
		t.Errorf("best %d, done %v", x.best, x.done())
	}
	if n, due := x.next(); n != 2 || due {
		t.Errorf("after the end it explores %d", n)
	}
	x = newExploration(0.1, len(times), time.Millisecond)
	simulate(x, times, time.Millisecond, 5000, 2)
	if x.best != 3 || !x.done() {
		t.Errorf("without the wrong one: best %d, done %v", x.best, x.done())
	}
	for n, v := range x.variants {
		if n == 2 && len(v.times) > 0 {
			t.Error("a wrong variant ran")
		}
	}
}

// A gain within the noise changes nothing.
func TestExplorationStaysWhereNothingIsGained(t *testing.T) {
	x := newExploration(0.2, 3, 0)
	simulate(x, []time.Duration{1e6, 0.99e6, 1e6}, 0, 5000)
	if x.best != 0 || !x.done() {
		t.Errorf("best %d, done %v", x.best, x.done())
	}
}
