package isolate

import (
	"bytes"
	"fmt"
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
