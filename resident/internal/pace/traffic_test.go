package pace

import (
	"testing"
	"time"
)

// TestTrafficIsPolledWhileItLasts has messages with gaps of several lengths, and then none.
func TestTrafficIsPolledWhileItLasts(t *testing.T) {
	for name, c := range map[string]struct {
		gap  time.Duration
		spin time.Duration // after the last message
	}{
		"persistent kernels":  {3 * time.Microsecond, SpinTime},
		"ticks":               {30 * time.Microsecond, 120 * time.Microsecond},
		"ticks of a slow GPU": {150 * time.Microsecond, LongestSpin},
		"now and then":        {10 * time.Millisecond, SpinTime},
	} {
		var traffic Traffic
		now := time.Unix(1000, 0)
		if w := traffic.Wait(now); w != longestRest {
			t.Errorf("%s: before the first message a host looks every %v", name, w)
		}
		for range 40 {
			now = now.Add(c.gap)
			traffic.Saw(now)
		}
		if w := traffic.Wait(now.Add(c.spin * 9 / 10)); w != 0 {
			t.Errorf("%s: a host pauses for %v while messages are likely", name, w)
		}
		end := c.spin + c.spin/10
		if w := traffic.Wait(now.Add(end)); w != end/backoffShare {
			t.Errorf("%s: %v after the last message a host pauses for %v", name, end, w)
		}
		for quiet, want := range map[time.Duration]time.Duration{
			100 * time.Millisecond: longestBackoff, time.Second: 10 * time.Millisecond, time.Hour: longestRest,
		} {
			if w := traffic.Wait(now.Add(quiet)); w != want {
				t.Errorf("%s: %v after the last message a host pauses for %v, not %v", name, quiet, w, want)
			}
		}
	}
}

// TestTrafficBeginsAgain has a rest between two bursts: few messages suffice.
func TestTrafficBeginsAgain(t *testing.T) {
	var traffic Traffic
	now := time.Unix(1000, 0)
	burst := func(n int) {
		for range n {
			now = now.Add(40 * time.Microsecond)
			traffic.Saw(now)
		}
	}
	burst(50)
	now = now.Add(time.Hour)
	burst(8)
	if w := traffic.Wait(now.Add(2 * SpinTime)); w != 0 {
		t.Errorf("after 8 messages of a new burst a host pauses for %v", w)
	}
}
