//go:build !linux

package osfile

import "os"

// HasByteLocks reports whether TryLockByte locks on this system.
const HasByteLocks = false

// TryLockByte does nothing on this system and returns nil.
func TryLockByte(*os.File, int64) error { return nil }

// UnlockByte does nothing on this system.
func UnlockByte(*os.File, int64) {}
