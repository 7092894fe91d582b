package osfile

import (
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MachineMemory returns the bytes of memory of the machine, or of the container if that
// has less; a large number where neither is known.
func MachineMemory() int64 {
	memory, machine := int64(math.MaxInt64), unix.Sysinfo_t{}
	if unix.Sysinfo(&machine) == nil {
		memory = int64(machine.Totalram) * int64(machine.Unit)
	}
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, _ := os.ReadFile(limit) // one of the two is there at most
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 {
			memory = min(memory, n)
		}
	}
	return memory
}
