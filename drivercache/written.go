package drivercache

import (
	"os"
	"strconv"
	"strings"
)

// Written returns the bytes that this process has written to files and pipes so far, and
// false where the system does not count them. A driver that made machine code wrote it
// when [Flush] has returned. Files that other processes of the same directory add, which
// [Work.Entries] may take for its own, do not count.
func Written() (bytes int64, known bool) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "wchar: "); found {
			bytes, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return bytes, err == nil
		}
	}
	return 0, false
}
