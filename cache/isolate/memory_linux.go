package isolate

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// memoryOf returns the bytes of memory that belong to a process alone, swapped ones
// included; 0 = not known. Address space that a driver merely reserves is not counted.
func memoryOf(process int) (sum int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) == "RssAnon" || string(name) == "VmSwap" {
			sum += kibibytes(string(value))
		}
	}
	return sum
}

// kibibytes returns the bytes of a value such as "  1234 kB".
func kibibytes(value string) int64 {
	number, _, _ := strings.Cut(strings.TrimSpace(value), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// machineMemory returns the bytes of memory of the machine, or of the container if that
// has less; a large number where neither is known.
func machineMemory() int64 {
	memory := int64(math.MaxInt64)
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		if _, after, found := strings.Cut(string(data), "MemTotal:"); found {
			memory = kibibytes(after)
		}
	}
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(limit)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 {
			memory = min(memory, n)
		}
	}
	return memory
}
