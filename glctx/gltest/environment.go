//go:build linux

package gltest

import (
	"os"
	"strings"
	"syscall"
)

// cacheVariables are the prefixes of the variables that set cache directories of this
// project and of drivers.
var cacheVariables = []string{
	"SHADERCACHE_DIR", "SHADERCACHE_UPSTREAM", "SHADERCACHE_DRIVER_DIR",
	"MESA_SHADER_CACHE_", "MESA_GLSL_CACHE_", "MESA_DISK_CACHE_", "__GL_SHADER_DISK_CACHE",
}

// IsolateEnvironment makes the process independent of the user's settings. It removes the
// variables that set cache directories, and sets the umask to 022: with 002, temporary
// directories would be writable by others, and such cache directories are rejected.
// It sets $GORACE, where the user has not, so that programs with the race detector,
// which tests start by the hundred, do not sleep for a second before they end. Main
// calls it. Packages with their own TestMain call it before their tests run.
func IsolateEnvironment() {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		for _, prefix := range cacheVariables {
			if strings.HasPrefix(name, prefix) {
				os.Unsetenv(name)
			}
		}
	}
	os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
	syscall.Umask(0o022)
}

// InCacheDir returns what run returns, which it calls in an isolated environment with an
// empty cache directory in $SHADERCACHE_DIR, which it removes.
func InCacheDir(run func() int) int {
	IsolateEnvironment()
	dir, err := os.MkdirTemp("", "shadercache-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("SHADERCACHE_DIR", dir)
	return run()
}
