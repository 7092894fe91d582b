package futex

import (
	"runtime"
	"sync"
	"sync/atomic"
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
	for s.state.Load() != awake {
		s.sleepThread(time.Hour) // it may return early, any number of times
	}
}

// A collection ends the sleep of a thread: it does not wait for it.
func TestCollectionEndsSleepOfThread(t *testing.T) {
	var s Sleeper
	s.Prepare(ShortSleep)
	var sleeping atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for sleeping.Store(true); s.state.Load() != awake; {
			s.sleepThread(time.Hour)
		}
	})
	for !sleeping.Load() {
		runtime.Gosched()
	}
	runtime.GC()
	s.Wake()
	done.Wait()
}
