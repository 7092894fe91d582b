package futex

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// Sleeper has one goroutine sleep, and its thread where the sleep is short. The zero value is
// ready.
type Sleeper struct {
	state atomic.Uint32 // the futex
	woken chan struct{} // one token
}

// States of a Sleeper.
const (
	awake uint32 = iota
	threadSleeps
	goroutineSleeps
)

// NoLimit is the limit of a sleep that only Wake ends.
const NoLimit time.Duration = math.MaxInt64

// ShortSleep is the longest sleep of a thread. It keeps its processor meanwhile, and a
// collection waits for it where GODEBUG has asyncpreemptoff=1.
const ShortSleep = 2 * time.Millisecond

// leastProcessors is the number of processors of Go from which a thread and one that waits for
// it may sleep. While threads that sleep have all of them, goroutines that could run wait.
const leastProcessors = 4

// MaySleep reports whether processors are left where a thread sleeps for a time.
func MaySleep() bool { return runtime.GOMAXPROCS(0) >= leastProcessors }

// timerRound is by how much Go's timers are late in a process that is otherwise idle.
const timerRound = time.Millisecond

// Prepare comes before Sleep, with the same limit: a Wake after it ends the sleep.
func (s *Sleeper) Prepare(limit time.Duration) {
	if limit <= ShortSleep {
		s.state.Store(threadSleeps)
		return
	}
	if s.woken == nil {
		s.woken = make(chan struct{}, 1)
	}
	s.state.Store(goroutineSleeps)
}

// Sleep returns after Wake, or after limit, unless that is NoLimit; or earlier, which leaves
// a short sleep where limit is longer than ShortSleep.
func (s *Sleeper) Sleep(limit time.Duration) {
	switch {
	case limit <= ShortSleep:
		s.sleepThread(max(1, limit))
	case limit == NoLimit:
		<-s.woken
	default:
		timer := time.NewTimer(limit - timerRound)
		defer timer.Stop()
		select {
		case <-s.woken:
		case <-timer.C:
		}
	}
}

// Wake ends the sleep. Any goroutine may call it, after Prepare.
func (s *Sleeper) Wake() {
	switch s.state.Swap(awake) {
	case threadSleeps:
		s.wakeThread()
	case goroutineSleeps:
		select {
		case s.woken <- struct{}{}:
		default:
		}
	}
}
