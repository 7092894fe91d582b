//go:build unix

package binary

import (
	"os"
	"strings"
	"syscall"
)

// Whoever runs the tests may have a umask with which others can write to every
// temporary directory, as to no cache directory. Under the race detector each
// process that a test starts would sleep a second at its end.
func init() {
	os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
	syscall.Umask(0o022)
}
