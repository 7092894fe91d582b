//go:build linux

package resident

import (
	"context"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/pace"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// TestAStopEndsARunningTick has the host end a tick that would take very long, which
// needs a driver that shows host writes to kernels: no other tick begins.
func TestAStopEndsARunningTick(t *testing.T) {
	f := newFixture(t)
	caps, err := Probe(t.Context(), f.context, f.cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !caps.HostWritesSeen {
		t.Skip("a kernel of this driver does not see host writes during its dispatch")
	}
	s := f.session(chainKernel(), Options{Strategy: Persistent, Slice: time.Hour, Capabilities: caps})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	waitStep(t, s)
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

// TestTicksAreTimed runs every strategy and checks the longest submission, and the
// timestamp queries, which are reused.
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
		err := s.onGL(t.Context(), func(_ *glctx.GL, m *memory) error {
			// Short ticks that are not queued have no timestamps.
			depth := s.config.depth()
			if got := len(m.timestamps.free); got < min(2, 2*(depth-1)) || got > 2*depth || got%2 > 0 {
				t.Errorf("%v: %d queries after %d submissions", strategy, got, n.Submissions)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantWords(t, words(t, s, "Cells", chainCells), chainAfter(3000))
	}
}

// TestLongTicksAreStopped checks the conditions: the tick has done steps, and takes far
// longer than estimated.
func TestLongTicksAreStopped(t *testing.T) {
	f := newFixture(t)
	for name, c := range map[string]struct {
		Options
		limit time.Duration
	}{
		"estimated":         {Options{TickTime: 30 * time.Millisecond, Capabilities: claimed}, 60 * time.Millisecond},
		"mega":              {Options{Strategy: Mega, TickTime: 30 * time.Millisecond, Capabilities: claimed}, megaTicks * 60 * time.Millisecond},
		"set by the user":   {Options{Budget: 5, Capabilities: claimed}, 0},
		"stop is invisible": {Options{}, 0},
		"persistent":        {Options{Strategy: Persistent, Capabilities: claimed}, 0},
	} {
		_, sc := f.stopped(chainKernel(), c.Options)
		v := submission{limit: sc.timeLimit()}
		sc.status.Least, sc.status.Most = 100, 100
		if v.limit != c.limit {
			t.Errorf("%s: the limit is %v, not %v", name, v.limit, c.limit)
		}
		for _, done := range []uint32{100, 101} {
			for _, gone := range []time.Duration{0, c.limit + time.Millisecond} {
				sc.words.Store(wire.AtDone, done)
				want := c.limit > 0 && gone > 0 && done > 100
				if got := sc.isOverlong(&v, gone); got != want {
					t.Errorf("%s: %d of 100 steps after %v: %v", name, done, gone, got)
				}
			}
		}
	}
}

// stepTime is the step time of an estimate.
const stepTime = 10 * time.Microsecond

// TestTheFirstTickAfterARestIsShort has a GPU that may have lowered its clock.
func TestTheFirstTickAfterARestIsShort(t *testing.T) {
	f := newFixture(t)
	for strategy, target := range map[Strategy]time.Duration{Redispatch: defaultTickTime, Mega: megaTicks * defaultTickTime, Triple: defaultTickTime} {
		_, sc := f.stopped(chainKernel(), Options{Strategy: strategy})
		sc.estimator.Observe(1, pace.Bounds{Least: stepTime, Most: stepTime})
		sc.lastSteps = 1 << 20
		sc.timer.Observe(pace.Sample{Seen: time.Now().Add(-2 * time.Minute)}, pace.Work{})
		if got, want := sc.nextSteps(1<<30), uint64(target/stepTime/pace.MaxGrowth); got != want {
			t.Errorf("%v: %d steps after a rest, not %d", strategy, got, want)
		}
		sc.submissions = make([]submission, 1) // the GPU works
		if got, want := sc.nextSteps(1<<30), uint64(target/stepTime); got != want {
			t.Errorf("%v: %d steps behind another submission, not %d", strategy, got, want)
		}
		sc.submissions = nil
		sc.timer.Observe(pace.Sample{Seen: time.Now().Add(time.Hour)}, pace.Work{}) // however slow this test is
		if got, want := sc.nextSteps(1<<30), uint64(target/stepTime); got != want {
			t.Errorf("%v: %d steps at once, not %d", strategy, got, want)
		}
	}
}

// TestQueuedTicksUseTheNewestBudget changes the budget while a submission is queued: its
// expected steps are those of the new budget, up to the end of the run.
func TestQueuedTicksUseTheNewestBudget(t *testing.T) {
	f := newFixture(t)
	claims := chainKernel()
	claims.Claim = true
	phases := chainKernel()
	phases.Phases = 2
	for name, c := range map[string]struct {
		kernel Kernel
		submission
		want uint64
	}{
		"more":           {chainKernel(), submission{steps: 20, rounds: 1}, 300},
		"fewer":          {chainKernel(), submission{steps: 500, rounds: 1}, 300},
		"several rounds": {chainKernel(), submission{steps: 20, rounds: 2}, 600},
		"to the end":     {chainKernel(), submission{steps: 20, rounds: 4}, 900},
		"claimed":        {claims, submission{steps: 20, rounds: 1}, min(900, 300*uint64(claims.Groups))},
		"complete":       {phases, submission{steps: 20, rounds: 1, reached: true}, 20},
	} {
		_, sc := f.stopped(c.kernel, Options{Strategy: Triple})
		sc.target = 1000
		sc.words.SetBudget(300)
		sc.updateExpected(&c.submission, wire.Status{Least: 100, Most: 120})
		if c.steps != c.want {
			t.Errorf("%s: %d steps, not %d", name, c.steps, c.want)
		}
	}
}

// TestTheLastTickDoesNotShortenOthers leaves few steps for the last submission of a run,
// while another one is queued.
func TestTheLastTickDoesNotShortenOthers(t *testing.T) {
	f := newFixture(t)
	for strategy, want := range map[Strategy][2]uint32{Redispatch: {50, 10}, Double: {50, 50}, Triple: {50, 50}} {
		_, sc := f.stopped(chainKernel(), Options{Strategy: strategy})
		sc.estimator.Observe(1, pace.Bounds{Least: time.Millisecond, Most: time.Millisecond})
		sc.timer.Observe(pace.Sample{Seen: time.Now().Add(time.Hour)}, pace.Work{}) // the GPU is warm
		sc.timer.Take()
		sc.run.goal = 60
		target := sc.beginBurst()
		for i, planned := range []uint64{50, 10} {
			if err := sc.submitNext(target); err != nil {
				t.Fatal(err)
			}
			if got, budget := sc.submissions[i].steps, sc.words.Budget(); got != planned || budget != want[i] {
				t.Errorf("%v: submission %d has %d steps and a budget of %d, not %d and %d", strategy, i, got, budget, planned, want[i])
			}
		}
		for len(sc.submissions) > 0 {
			if _, err := sc.completeOldest(target); err != nil {
				t.Fatal(err)
			}
		}
		// Without a queue the second submission may begin before the first has its budget.
		if n := sc.status.Progress(); n != 60 && sc.depth() > 1 {
			t.Errorf("%v: %d steps are done", strategy, n)
		}
	}
}

// TestStatusesAreReadInOrder issues a long submission behind one whose status is not read
// yet, where the driver works while it issues: a status that was read too early has fewer
// ticks than the one before.
func TestStatusesAreReadInOrder(t *testing.T) {
	f := newFixture(t)
	_, sc := f.stopped(chainKernel(), Options{Strategy: Triple})
	sc.run.goal = 1 << 20
	target := sc.beginBurst()
	for _, steps := range []uint64{1, 1 << 15, 1} {
		if err := sc.submitSteps(steps, steps, false); err != nil {
			t.Fatal(err)
		}
		first := &sc.submissions[0]
		if len(sc.submissions) > 1 || !first.reached {
			continue
		}
		err := sc.context.Do(func(gl *glctx.GL) error { // as if it had been issued at once
			first.reached, first.untimed, first.fence = false, true, gl.NewFence()
			return gl.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for len(sc.submissions) > 0 {
		before := sc.ticks
		if _, err := sc.completeOldest(target); err != nil {
			t.Fatal(err)
		}
		if int32(sc.ticks-before) < 0 {
			t.Errorf("%d ticks, and then %d", before, sc.ticks)
		}
	}
}
