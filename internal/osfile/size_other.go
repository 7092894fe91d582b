//go:build !unix

package osfile

import "io/fs"

// DiskBytes returns the size of a file: what it occupies on disk is not known on this
// system.
func DiskBytes(info fs.FileInfo) int64 { return info.Size() }
