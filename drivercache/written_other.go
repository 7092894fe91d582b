//go:build !linux

package drivercache

// Written returns false: it works on Linux only.
func Written() (bytes int64, known bool) { return 0, false }
