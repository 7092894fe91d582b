package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlinesShortenTicks applies limits to a tick of 50 ms, and waits for their end.
func TestDeadlinesShortenTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limit
		want := func(d time.Duration) {
			t.Helper()
			if got := l.Apply(50 * time.Millisecond); got != d {
				t.Errorf("ticks of %v, not %v", got, d)
			}
		}
		want(50 * time.Millisecond)
		l.Lower(4 * time.Millisecond)
		time.Sleep(limitTime - 1)
		l.Lower(8 * time.Millisecond) // does not end the shorter one
		time.Sleep(limitTime - 1)
		want(4 * time.Millisecond)
		time.Sleep(time.Nanosecond)
		want(50 * time.Millisecond)
		time.Sleep(time.Nanosecond)
		l.Lower(8 * time.Millisecond)
		want(8 * time.Millisecond)
	})
}
