package futex

import (
	"sync"
	"testing"
	"time"
)

var limits = []time.Duration{ShortSleep, time.Minute, NoLimit}

// Wake ends a sleep of each kind, also when it comes before Sleep.
func TestWakeEndsSleep(t *testing.T) {
	for _, limit := range limits {
		for _, late := range []time.Duration{0, time.Millisecond} {
			var s Sleeper
			s.Prepare(limit)
			woken := make(chan struct{})
			go func() {
				defer close(woken)
				time.Sleep(late)
				s.Wake()
			}()
			if late == 0 {
				<-woken
			}
			s.Sleep(limit)
			<-woken
		}
	}
}

func TestSleepEndsByItself(t *testing.T) {
	var s Sleeper
	for _, limit := range []time.Duration{-1, 100 * time.Microsecond, ShortSleep, 5 * time.Millisecond} {
		start := time.Now()
		for left := limit; left > 0; left = limit - time.Since(start) {
			s.Prepare(left)
			s.Sleep(left)
		}
		if took := time.Since(start); took < limit {
			t.Errorf("a sleep of %v took %v", limit, took)
		}
	}
}

// No wake is lost where many threads wake one that sleeps without a limit.
func TestNoWakeIsLost(t *testing.T) {
	var s Sleeper
	var mu sync.Mutex
	queued, sleeping, taken := 0, false, 0
	const producers, each = 4, 500
	for _, limit := range []time.Duration{time.Hour, NoLimit, ShortSleep} {
		var all sync.WaitGroup
		for range producers {
			all.Go(func() {
				for range each {
					mu.Lock()
					queued++
					wake := sleeping
					sleeping = false
					mu.Unlock()
					if wake {
						s.Wake()
					}
				}
			})
		}
		for taken = 0; taken < producers*each; {
			mu.Lock()
			taken += queued
			queued = 0
			if sleeping = taken < producers*each; sleeping {
				s.Prepare(limit)
			}
			mu.Unlock()
			if taken < producers*each {
				s.Sleep(limit)
			}
		}
		all.Wait()
	}
}
