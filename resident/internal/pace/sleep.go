//go:build linux

package pace

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Sleep sleeps for d between polls. A value on wake ends it early from
// InterruptibleSleep on. Shorter sleeps are the operating system's.
func Sleep(d time.Duration, wake <-chan struct{}) {
	if d >= InterruptibleSleep {
		SleepUntilWake(timerTime(d), wake)
		return
	}
	// A thread's sleeps may be late by its timer slack, 50 us by default. The thread goes
	// back to the runtime with what it had.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil && before > timerSlack {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0)
		defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0)
	}
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&t, nil) // an early return costs one poll
}

// timerSlack is the slack of a sleep, in nanoseconds.
const timerSlack = 1000

// timerTime returns the time to set a timer to for a sleep of d. In an idle process Go's
// timers round up to milliseconds, so that 1.2 ms take 2.2 and 1 ms takes 1.1. A short
// sleep ends early instead: the next one is for what is left.
func timerTime(d time.Duration) time.Duration {
	if d < roundedSleep {
		return d.Truncate(time.Millisecond)
	}
	return d
}

// roundedSleep is the duration from which being late by a millisecond does not matter.
const roundedSleep = 4 * time.Millisecond

// SleepUntilWake sleeps for d, or until a value on wake.
func SleepUntilWake(d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	}
}
