//go:build linux

package pace

import (
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
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&t, nil) // an early return costs one poll
}

// SleepUntilWake sleeps for d, or until a value on wake.
func SleepUntilWake(d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	}
}
