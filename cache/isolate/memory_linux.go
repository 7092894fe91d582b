package isolate

import (
	"bytes"
	"fmt"
	"os"
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
			var kibibytes int64
			_, _ = fmt.Sscan(string(value), &kibibytes) // such as "  1234 kB"
			sum += kibibytes << 10
		}
	}
	return sum
}
