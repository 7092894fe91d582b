package osfile

import "golang.org/x/sys/unix"

// FreeBytes returns the space that this user may still use on the volume of a directory,
// and false where it is not known: some file systems report no size. A caller can add to it.
func FreeBytes(dir string) (bytes int64, known bool) {
	var volume unix.Statfs_t
	if err := unix.Statfs(dir, &volume); err != nil || volume.Blocks == 0 {
		return 0, false
	}
	return int64(min(float64(volume.Bavail)*float64(volume.Bsize), 1<<61)), true // some report 8 EiB
}
