//go:build !unix

package osfile

import "io/fs"

// DiskBytes returns the size of a file. This system does not report its bytes on disk.
func DiskBytes(info fs.FileInfo) int64 { return info.Size() }
