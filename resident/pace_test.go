package resident

import (
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
