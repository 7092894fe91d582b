//go:build linux

package executor

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// TestExpectationsSettle plays stages of one length to an estimate, with looks
// that come 20 us late, as the pump's do.
func TestExpectationsSettle(t *testing.T) {
	for _, length := range []time.Duration{400 * time.Microsecond, ms, 30 * ms} {
		var e estimate
		inVain := 0
		late := time.Duration(0) // how long ago the stage before was complete when that was seen
		for stage := range 1000 {
			look := e.duration + 20*time.Microsecond
			awaited := false
			for look+late < length {
				awaited = true
				look += max(look/16, maxSpin)
				if stage >= 500 {
					inVain++
				}
			}
			late += look - length
			e.observe(awaited, look)
			if late > length { // two were complete
				e.observeSeveral(look)
				late = 0
			}
		}
		if e.duration < length*3/4 || e.duration > length*5/4 {
			t.Errorf("stages of %v are expected to take %v", length, e.duration)
		}
		if inVain > 150 {
			t.Errorf("stages of %v: %d looks in vain at 500 stages", length, inVain)
		}
	}
}

func TestExpectationsFollowShorterStages(t *testing.T) {
	e := estimate{duration: 10 * ms, measured: true}
	for range 100 {
		e.observe(false, ms+maxSpin) // complete whenever it is looked at
	}
	if e.duration > 2*ms {
		t.Errorf("expected to take %v after a hundred stages of less", e.duration)
	}
}

func TestExpectationsKeepTheirHeadInAJam(t *testing.T) {
	e := estimate{duration: ms, measured: true}
	for range 100 {
		e.observeSeveral(5 * ms) // the GL thread got no CPU
	}
	if e.duration != ms {
		t.Errorf("expected to take %v", e.duration)
	}
	e.observeSeveral(ms + ms/8)
	if e.duration >= ms || e.duration < ms/2 {
		t.Errorf("expected to take %v after a look on time found two stages complete", e.duration)
	}
}

func TestExpectationsAreBounded(t *testing.T) {
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
		{ms / 2, 3, 4 * ms, false, ms / 2}, // nobody knows about a fourth
	} {
		e := estimate{duration: c.before, measured: true}
		e.limit(c.n, c.together, c.oneMore)
		if e.duration != c.after {
			t.Errorf("%+v: expected to take %v", c, e.duration)
		}
	}
}

// TestPatience asks for the time until the next look. Stages take 10 s, so that
// the time that passes meanwhile does not matter.
func TestPatience(t *testing.T) {
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
		{4, 60 * s, 40 * s}, // the GPU runs out of work
	} {
		p := pipeline{e: &Executor{options: Options{MaxDelay: c.delay}}, created: time.Now()}
		for range c.stages {
			p.stages = append(p.stages, stage{whole: &batch{}})
		}
		p.estimates.of(&p.stages[0]).duration = 10 * s
		if got := p.pollDelay(); got > c.want || got < c.want-5*s {
			t.Errorf("%d stages, delay %v: %v", c.stages, c.delay, got)
		}
	}
}
