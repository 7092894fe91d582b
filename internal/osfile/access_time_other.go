//go:build !linux

package osfile

import (
	"io/fs"
	"time"
)

// AccessTime returns the zero time: it is not known on this system, and files age
// from when they were written.
func AccessTime(fs.FileInfo) time.Time { return time.Time{} }
