//go:build unix

package binary

import "syscall"

// Whoever runs the tests may have a umask with which others can write to every
// temporary directory, as to no cache directory.
func init() { syscall.Umask(0o022) }
