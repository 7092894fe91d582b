//go:build unix

package binary

import (
	"os"
	"strings"
	"syscall"
)

// The user's umask may let others write to temporary directories, which OpenDir refuses.
// Under the race detector each process that a test starts would sleep a second at its
// end.
func init() {
	os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
	syscall.Umask(0o022)
}
