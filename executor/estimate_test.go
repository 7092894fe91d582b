//go:build linux

package executor

import (
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// TestEstimateConverges observes stages of one length, with polls that come 20 us
// late, as the pump's do.
func TestEstimateConverges(t *testing.T) {
	for _, length := range []time.Duration{400 * time.Microsecond, ms, 30 * ms} {
		var e estimate
		missed := 0
		late := time.Duration(0) // time from the end of the stage before to the poll that found it complete
		for stage := range 1000 {
			poll := e.duration + 20*time.Microsecond
			missedPoll := false
			for poll+late < length {
				missedPoll = true
				poll += max(poll/16, maxSpin)
				if stage >= 500 {
					missed++
				}
			}
			late += poll - length
			e.observe(missedPoll, poll)
			if late > length { // two were complete
				e.observeSeveral(poll)
				late = 0
			}
		}
		if e.duration < length*3/4 || e.duration > length*5/4 {
			t.Errorf("stages of %v are estimated at %v", length, e.duration)
		}
		if missed > 150 {
			t.Errorf("stages of %v: %d missed polls for 500 stages", length, missed)
		}
	}
}

func TestEstimateFollowsShorterStages(t *testing.T) {
	e := estimate{duration: 10 * ms, measured: true}
	for range 100 {
		e.observe(false, ms+maxSpin) // complete at every poll
	}
	if e.duration > 2*ms {
		t.Errorf("the estimate is %v after a hundred shorter stages", e.duration)
	}
}

func TestEstimateIgnoresLatePolls(t *testing.T) {
	e := estimate{duration: ms, measured: true}
	for range 100 {
		e.observeSeveral(5 * ms) // the GL thread got no CPU
	}
	if e.duration != ms {
		t.Errorf("the estimate is %v", e.duration)
	}
	e.observeSeveral(ms + ms/8)
	if e.duration >= ms || e.duration < ms/2 {
		t.Errorf("the estimate is %v after a poll on time found two stages complete", e.duration)
	}
}

func TestEstimateIsLimitedByDelayedPolls(t *testing.T) {
	for _, c := range []struct {
		before   time.Duration
		n        int
		together time.Duration
		oneMore  bool
		after    time.Duration
	}{
		{ms, 3, 3500 * time.Microsecond, true, ms},
		{2 * ms, 3, 3 * ms, true, ms},      // three fit into it
		{ms / 2, 3, 4 * ms, true, ms},      // a fourth does not
		{ms / 2, 3, 4 * ms, false, ms / 2}, // the fourth is not known
	} {
		e := estimate{duration: c.before, measured: true}
		e.limit(c.n, c.together, c.oneMore)
		if e.duration != c.after {
			t.Errorf("%+v: the estimate is %v", c, e.duration)
		}
	}
}

// Stages of one job have an estimate for each kernel and size, and those of several one for
// their number.
func TestEstimatesAreOfWhatRuns(t *testing.T) {
	one := func(program, groups uint32) *stage {
		commands := []command{{program: program, groups: [3]uint32{groups, 1, 1}}}
		return &stage{whole: &batch{jobs: []jobResult{{work: workOf(commands)}}, commandLists: commandLists{commands: commands}}}
	}
	var x estimates
	x.of(one(1, 8)).duration = ms
	if x.of(one(1, 8)).duration != ms {
		t.Error("a stage like another one has another estimate")
	}
	for _, other := range []*stage{one(1, 16), one(2, 8), {whole: &batch{}}, {up: &batch{}}} {
		e := x.of(other)
		if e == x.of(one(1, 8)) || e.measured {
			t.Errorf("%+v has the estimate of other work", other.whole)
		}
		if other.whole != nil && len(other.whole.jobs) == 1 && e.duration != ms {
			t.Errorf("the first guess is %v, not that of the work before", e.duration)
		}
	}
	first := one(1, 8)
	x.of(first)
	for program := range uint32(mostWorks) {
		x.of(one(program, 1))
	}
	if len(x.works) > mostWorks || x.of(first).duration != ms {
		t.Errorf("%d estimates, and a stage that runs lost its own: %v", len(x.works), x.of(first).duration)
	}
}

// TestPollDelay computes the time until the next poll of stages that take 10 s.
func TestPollDelay(t *testing.T) { synctest.Test(t, testPollDelay) }

func testPollDelay(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		stages int
		delay  time.Duration
		want   time.Duration
	}{
		{1, 0, 10 * s},
		{1, 60 * s, 10 * s}, // nothing behind it
		{4, 0, 10 * s},
		{4, 15 * s, 25 * s},
		{4, 60 * s, 40*s - startLead}, // before the GPU runs out of work
	} {
		p := pipeline{e: &Executor{options: Options{MaxDelay: c.delay}}, created: time.Now()}
		for range c.stages {
			p.stages = append(p.stages, stage{whole: &batch{}})
		}
		p.estimates.of(&p.stages[0]).duration = 10 * s
		if got := p.pollDelay(); got != c.want {
			t.Errorf("%d stages, delay %v: %v", c.stages, c.delay, got)
		}
	}
}
