package futex

import (
	"testing"
	"time"
)

// A thread that sleeps is woken, and not before.
func TestWakeEndsSleepOfThread(t *testing.T) {
	var s Sleeper
	s.Prepare(ShortSleep)
	go func() {
		time.Sleep(time.Millisecond)
		s.Wake()
	}()
	s.sleepThread(time.Hour)
	if s.state.Load() != awake {
		s.sleepThread(time.Hour) // it returned early
	}
	if s.state.Load() != awake {
		t.Error("the thread was not woken")
	}
}
