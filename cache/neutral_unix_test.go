//go:build unix

package cache_test

import (
	"os"
	"strings"
	"syscall"
)

// Tests must not use the caches of the user who runs them, nor a umask with which
// others can write to temporary directories: no cache directory is like that.
// Under the race detector each process that a test starts would sleep a second at
// its end.
func init() {
	for _, name := range []string{"SHADERCACHE_DIR", "SHADERCACHE_UPSTREAM"} {
		os.Unsetenv(name)
	}
	os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
	syscall.Umask(0o022)
}
