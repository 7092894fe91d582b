//go:build !linux

package mesa

// Flush does nothing: Mesa is managed on Linux only.
func Flush() {}
