//go:build !linux

package futex

import "time"

// sleepThread sleeps for limit: only Linux has futexes, and GL contexts here.
func (s *Sleeper) sleepThread(limit time.Duration) { time.Sleep(limit) }

func (s *Sleeper) wakeThread() {}

// SleepExactly does nothing.
func SleepExactly() {}
