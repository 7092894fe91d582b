//go:build linux

package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSleepsCanBeInterrupted wakes a long sleep, and lets another one end by itself.
func TestSleepsCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{}, 1)
		began := time.Now()
		time.AfterFunc(time.Second, func() { wake <- struct{}{} })
		Sleep(time.Hour, wake)
		if d := time.Since(began); d != time.Second {
			t.Errorf("the sleep ended after %v, not after the wake-up at 1s", d)
		}
		Sleep(InterruptibleSleep, wake)
		Sleep(4*InterruptibleSleep, wake)
		if d := time.Since(began); d != time.Second+time.Millisecond+4*InterruptibleSleep {
			t.Errorf("the next two sleeps took %v, not a whole millisecond and %v", d-time.Second, 4*InterruptibleSleep)
		}
		wake <- struct{}{}
		Sleep(ShortestSleep, wake)
		if len(wake) != 1 {
			t.Error("a short sleep took the wake-up")
		}
	})
}
