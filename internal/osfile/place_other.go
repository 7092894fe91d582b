//go:build !unix

package osfile

// IsWritable returns true: a write will show it.
func IsWritable(string) bool { return true }

// PrivatePlaces returns none: users of this system have a directory for caches.
func PrivatePlaces(string) []string { return nil }
