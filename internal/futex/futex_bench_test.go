//go:build linux

package futex

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkSleep measures what a sleep of a millisecond costs: CPU time of the process, and
// by how much it ends late. "syscall" tells Go's runtime that the thread is in a system call,
// "raw" does not, and "timer" is a sleep of the goroutine.
func BenchmarkSleep(b *testing.B) {
	const limit = time.Millisecond
	timeout := unix.NsecToTimespec(limit.Nanoseconds())
	var s Sleeper
	s.Prepare(limit)
	for name, sleep := range map[string]func(){
		"syscall": func() { _ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &timeout, nil) },
		"raw":     func() { s.sleepThread(limit) },
		"timer":   func() { time.Sleep(limit) },
	} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			SleepExactly()
			before, start := cpuTime(b), time.Now()
			for range b.N {
				sleep()
			}
			late := time.Since(start) - time.Duration(b.N)*limit
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/op")
			b.ReportMetric(float64(late.Nanoseconds())/1e3/float64(b.N), "late-us/op")
		})
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
