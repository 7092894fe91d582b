package trace

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// processBegan returns when the process was started, to a hundredth of a second, which is
// what Linux tells: field 22 of /proc/self/stat, in ticks since boot.
func processBegan() (time.Time, bool) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return time.Time{}, false
	}
	// The name, field 2, is in parentheses and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return time.Time{}, false
	}
	ticks, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	const ticksPerSecond = 100 // USER_HZ, on every architecture that Go runs on
	began := time.Duration(ticks) * time.Second / ticksPerSecond
	// Two clocks are read at once: a wait between them, as for a file on a busy machine, would
	// move the start to after what followed it.
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, false
	}
	return time.Now().Add(-max(time.Duration(up.Nano())-began, 0)), true
}
