package osfile

import "golang.org/x/sys/unix"

// FreeBytes returns the space that this user may still use on the volume of a directory,
// and false where it is not known.
func FreeBytes(dir string) (bytes int64, known bool) {
	var volume unix.Statfs_t
	if err := unix.Statfs(dir, &volume); err != nil {
		return 0, false
	}
	return int64(volume.Bavail) * volume.Bsize, true
}
