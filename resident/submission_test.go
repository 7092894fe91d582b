//go:build linux

package resident

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// TestAStopEndsATickInFlight has a tick that would take very long be ended by the
// host, which only a driver that shows it to the kernel allows: no other one begins.
func TestAStopEndsATickInFlight(t *testing.T) {
	f := newFixture(t)
	caps, err := Probe(t.Context(), f.context, f.cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !caps.HostWritesSeen {
		t.Skip("the probe says that a kernel does not see what the host writes during its dispatch")
	}
	s := f.session(chainKernel(), Options{Strategy: Persistent, Slice: time.Hour, Capabilities: caps})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	getsOn(t, ctx, s)
	ticks := s.Stats().Ticks
	out, err := s.Stop(ctx)
	if err != nil || out.Steps == 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if n := s.Stats(); n.Ticks-n.Alignments > ticks+1 {
		t.Errorf("%d ticks before the stop, %d in all, %d of them to align", ticks, n.Ticks, n.Alignments)
	}
	got := words(t, s, "Cells", chainCells)
	if steps := s.Progress(); steps < 1<<22 {
		wantWords(t, got, chainAfter(steps))
	} else {
		t.Logf("%d steps are too many for the CPU", steps)
	}
}

// TestTicksAreTimed runs every strategy and looks at the longest submission, and at
// the queries of the GPU's clock, which are used again and again.
func TestTicksAreTimed(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range Strategies() {
		s := f.session(chainKernel(), Options{Strategy: strategy, TickTime: time.Millisecond})
		began := time.Now()
		run(t, s, 3000)
		wall := time.Since(began)
		n := s.Stats()
		if n.LongestTick <= 0 || n.LongestTick > wall {
			t.Errorf("%v: the longest of %d submissions in %v took %v", strategy, n.Submissions, wall, n.LongestTick)
		}
		if n.Submissions < 3 {
			t.Errorf("%v: %d submissions", strategy, n.Submissions)
		}
		err := s.WithBuffers(t.Context(), func(*glctx.GL, map[string]glctx.Buffer) error {
			// Who waits for a short tick at once does without.
			if got := len(s.gl.stamps.spare); got < min(2, 2*(s.depth()-1)) || got > 2*s.depth() || got%2 > 0 {
				t.Errorf("%v: %d queries are left of %d submissions", strategy, got, n.Submissions)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantWords(t, words(t, s, "Cells", chainCells), chainAfter(3000))
	}
}

// TestALongTickIsToldToEnd says when: it began, did steps, and goes on far beyond
// the time of a tick that the pace chose.
func TestALongTickIsToldToEnd(t *testing.T) {
	f := newFixture(t)
	for name, c := range map[string]struct {
		Options
		limit time.Duration
	}{
		"learned":          {Options{TickTime: 30 * time.Millisecond, Capabilities: claimed}, 60 * time.Millisecond},
		"mega":             {Options{Strategy: Mega, TickTime: 30 * time.Millisecond, Capabilities: claimed}, megaTicks * 60 * time.Millisecond},
		"as the user says": {Options{Budget: 5, Capabilities: claimed}, 0},
		"nobody sees it":   {Options{}, 0},
		"persistent":       {Options{Strategy: Persistent, Capabilities: claimed}, 0},
	} {
		s := f.session(chainKernel(), c.Options)
		v := flight{limit: s.limit()}
		s.driver.last.least, s.driver.last.most = 100, 100
		if v.limit != c.limit {
			t.Errorf("%s: the limit is %v, not %v", name, v.limit, c.limit)
		}
		for _, done := range []uint32{100, 101} {
			for _, gone := range []time.Duration{0, c.limit + time.Millisecond} {
				atomic.StoreUint32(&s.words[wordDone], done)
				want := c.limit > 0 && gone > 0 && done > 100
				if got := s.isOverlong(&v, time.Now().Add(-gone)); got != want {
					t.Errorf("%s: %d of 100 steps after %v: %v", name, done, gone, got)
				}
			}
		}
	}
}

// TestTheFirstTickAfterARestIsShort has a GPU that may have slowed its clock.
func TestTheFirstTickAfterARestIsShort(t *testing.T) {
	f := newFixture(t)
	for strategy, aim := range map[Strategy]time.Duration{Redispatch: defaultTickTime, Mega: megaTicks * defaultTickTime, Triple: defaultTickTime} {
		s := f.session(chainKernel(), Options{Strategy: strategy})
		d := &s.driver // which does nothing yet
		d.pace.nanos, d.steps = float64(stepTime), 1<<20
		d.watch.seen = time.Now().Add(-2 * coldTime)
		if got, want := s.nextSteps(1<<30), uint64(aim/stepTime/maxGrowth); got != want {
			t.Errorf("%v: %d steps after a rest, not %d", strategy, got, want)
		}
		d.flights = make([]flight, 1) // the GPU works
		if got, want := s.nextSteps(1<<30), uint64(aim/stepTime); got != want {
			t.Errorf("%v: %d steps behind another flight, not %d", strategy, got, want)
		}
		d.flights, d.watch.seen = nil, time.Now()
		if got, want := s.nextSteps(1<<30), uint64(aim/stepTime); got != want {
			t.Errorf("%v: %d steps at once, not %d", strategy, got, want)
		}
	}
}

// TestATickThatWaitedDoesWhatIsNewest has other submissions come while a flight waits:
// what is expected of it is what it will do, up to the end of the run.
func TestATickThatWaitedDoesWhatIsNewest(t *testing.T) {
	f := newFixture(t)
	claims := chainKernel()
	claims.Claim = true
	phases := chainKernel()
	phases.Phases = 2
	for name, c := range map[string]struct {
		kernel Kernel
		flight
		want uint64
	}{
		"more":            {chainKernel(), flight{steps: 20, rounds: 1}, 300},
		"fewer":           {chainKernel(), flight{steps: 500, rounds: 1}, 300},
		"several rounds":  {chainKernel(), flight{steps: 20, rounds: 2}, 600},
		"to the end":      {chainKernel(), flight{steps: 20, rounds: 4}, 900},
		"claimed":         {claims, flight{steps: 20, rounds: 1}, min(900, 300*uint64(claims.Groups))},
		"landed long ago": {phases, flight{steps: 20, rounds: 1, landed: true}, 20},
	} {
		s := f.session(c.kernel, Options{Strategy: Triple})
		s.driver.target = 1000
		s.words[wordOrder+2] = 300
		s.begin(&c.flight, report{least: 100, most: 120})
		if c.flight.steps != c.want {
			t.Errorf("%s: %d steps, not %d", name, c.flight.steps, c.want)
		}
	}
}

// TestTheLastTickDoesNotShortenOthers has little be left for the last submission of a
// run, while another one waits.
func TestTheLastTickDoesNotShortenOthers(t *testing.T) {
	f := newFixture(t)
	for strategy, want := range map[Strategy][2]uint32{Redispatch: {50, 10}, Double: {50, 50}, Triple: {50, 50}} {
		s := f.session(chainKernel(), Options{Strategy: strategy})
		d := &s.driver // which does nothing yet
		d.pace.nanos, d.watch.seen = float64(time.Millisecond), time.Now()
		s.mu.goal = 60
		target := s.arm()
		for i, planned := range []uint64{50, 10} {
			if err := s.submit(target); err != nil {
				t.Fatal(err)
			}
			if got, budget := d.flights[i].steps, s.words[wordOrder+2]; got != planned || budget != want[i] {
				t.Errorf("%v: submission %d has %d steps and a budget of %d, not %d and %d", strategy, i, got, budget, planned, want[i])
			}
		}
		for len(d.flights) > 0 {
			if _, err := s.land(target); err != nil {
				t.Fatal(err)
			}
		}
		// One at a time never has another one wait, so that there either may come first.
		if n := d.last.progress(); n != 60 && s.depth() > 1 {
			t.Errorf("%v: %d steps are done", strategy, n)
		}
	}
}
