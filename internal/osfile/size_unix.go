//go:build unix

package osfile

import (
	"io/fs"
	"syscall"
)

// DiskBytes returns the bytes of a file on disk, at most its size: a file with holes has
// fewer. It returns the size if the file system does not report blocks.
func DiskBytes(info fs.FileInfo) int64 {
	const block = 512 // of st_blocks, on every system
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Blocks <= 0 {
		return info.Size()
	}
	return min(info.Size(), stat.Blocks*block)
}
