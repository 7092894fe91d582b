//go:build linux

package pace

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Sleep sleeps for d between polls. A value on wake ends it early from
// InterruptibleSleep on. Shorter sleeps are the operating system's: Go's timers are
// accurate to milliseconds.
func Sleep(d time.Duration, wake <-chan struct{}) {
	if d >= InterruptibleSleep {
		SleepUntilWake(d, wake)
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

// SleepUntilWake sleeps for d, or until a value on wake.
func SleepUntilWake(d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	}
}
