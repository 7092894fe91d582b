//go:build !unix

package osfile

// SyncDir does nothing: the system has no call for it.
func SyncDir(string) error { return nil }
