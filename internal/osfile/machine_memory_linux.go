package osfile

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// MachineMemory returns the bytes of memory of the machine, or of the container if that
// has less; a large number where neither is known.
func MachineMemory() int64 {
	memory := int64(math.MaxInt64)
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &memory); err == nil {
			memory <<= 10
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
