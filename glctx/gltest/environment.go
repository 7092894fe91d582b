//go:build linux

package gltest

import (
	"os"
	"strings"
	"syscall"
)

// callers are the beginnings of the variables by which whoever runs tests leads
// this project, or a driver's cache, to directories of their own.
var callers = []string{
	"SHADERCACHE_DIR", "SHADERCACHE_UPSTREAM", "SHADERCACHE_DRIVER_DIR",
	"MESA_SHADER_CACHE_", "MESA_GLSL_CACHE_", "__GL_SHADER_DISK_CACHE",
}

// Neutral takes from the environment what whoever runs the tests has set for
// their own caches, and gives new files the usual modes: with a umask of 002
// others could write to every temporary directory, and a cache directory that
// others can write to is refused. Programs under the race detector, which the
// tests start by the hundred, do not sleep for a second before they end, unless
// $GORACE says how long. Main calls it; packages with a TestMain of their own do
// so before their tests run.
func Neutral() {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		for _, prefix := range callers {
			if strings.HasPrefix(name, prefix) {
				os.Unsetenv(name)
			}
		}
	}
	os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
	syscall.Umask(0o022)
}
