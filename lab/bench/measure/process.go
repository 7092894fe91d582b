package measure

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// CPUTime returns the CPU time that this process has used.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// CPUPercent returns the CPU time since used as a percentage of wall on one CPU.
func CPUPercent(used, wall time.Duration) float64 {
	return 100 * float64(CPUTime()-used) / float64(wall)
}

// Allocations returns the number of allocations that this process has made.
func Allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// ResidentBytes returns the memory of this process that is in RAM, or 0 where Linux
// does not report it.
func ResidentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Fscan(bytes.NewReader(text), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}
