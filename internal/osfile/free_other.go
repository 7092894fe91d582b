//go:build !linux

package osfile

// FreeBytes returns false: the space is not known on this system.
func FreeBytes(string) (bytes int64, known bool) { return 0, false }
