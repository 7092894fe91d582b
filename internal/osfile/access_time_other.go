//go:build !linux

package osfile

import (
	"io/fs"
	"time"
)

// AccessTime returns the zero time: the time is not known on this system. Callers use
// the time of the last write instead.
func AccessTime(fs.FileInfo) time.Time { return time.Time{} }
