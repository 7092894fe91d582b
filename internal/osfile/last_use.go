package osfile

import (
	"io/fs"
	"time"
)

// LastUse returns when a file was last written or read, the latter as far as the file system
// records it: with the usual mount option relatime it is accurate to a day.
func LastUse(info fs.FileInfo) time.Time {
	if read := accessTime(info); read.After(info.ModTime()) {
		return read
	}
	return info.ModTime()
}
