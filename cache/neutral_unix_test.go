//go:build unix

package cache_test

import (
	"os"
	"syscall"
)

// Whoever runs the tests may have caches of their own, and a umask with which
// others can write to every temporary directory, as to no cache directory.
func init() {
	for _, name := range []string{"SHADERCACHE_DIR", "SHADERCACHE_UPSTREAM"} {
		os.Unsetenv(name)
	}
	syscall.Umask(0o022)
}
