package trace

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// processBegan returns when the process was started, to a hundredth of a second, which is
// what Linux tells: field 22 of /proc/self/stat, in ticks since boot, and btime of
// /proc/stat is whole seconds, so the time since boot is taken from /proc/uptime.
func processBegan() (time.Time, bool) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return time.Time{}, false
	}
	uptime, err := os.ReadFile("/proc/uptime")
	now := time.Now()
	if err != nil {
		return time.Time{}, false
	}
	// The name, field 2, is in parentheses and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	up := bytes.Fields(uptime)
	if len(fields) < 20 || len(up) == 0 {
		return time.Time{}, false
	}
	ticks, err1 := strconv.ParseInt(string(fields[19]), 10, 64)
	seconds, err2 := strconv.ParseFloat(string(up[0]), 64)
	if err1 != nil || err2 != nil {
		return time.Time{}, false
	}
	const ticksPerSecond = 100 // USER_HZ, on every architecture that Go runs on
	age := time.Duration(seconds*float64(time.Second)) - time.Duration(ticks)*time.Second/ticksPerSecond
	return now.Add(-max(age, 0)), true
}
