//go:build !unix || aix || solaris

package osfile

import (
	"errors"
	"os"
)

// HasLocks reports whether TryLock locks files on this system.
const HasLocks = false

// TryLock does nothing on this system and returns nil.
func TryLock(*os.File, bool) error { return nil }

// Unlock does nothing on this system: closing a file releases its locks.
func Unlock(*os.File) {}

// KeepAcrossExec returns errors.ErrUnsupported on this system.
func KeepAcrossExec(*os.File) error { return errors.ErrUnsupported }
