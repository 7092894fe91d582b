//go:build !linux

package osfile

import "io/fs"

// FileID returns "": this system does not report the time of a change in the same way.
func FileID(fs.FileInfo) string { return "" }
