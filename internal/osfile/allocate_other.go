//go:build !linux

package osfile

import "os"

// Allocate does nothing on this system.
func Allocate(*os.File, int64) error { return nil }
