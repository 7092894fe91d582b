//go:build unix

package osfile

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// IsWritable reports whether this user may add files to a directory, which a volume that
// is mounted read-only does not allow.
func IsWritable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }

// PrivatePlaces returns the paths at which a process without a home can keep directories
// of its own until the machine ends, best first. None of them is made.
func PrivatePlaces(name string) (paths []string) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, name))
	}
	own := fmt.Sprintf("%s-%d", name, os.Geteuid())
	for _, dir := range []string{"/dev/shm", os.TempDir()} {
		if filepath.IsAbs(dir) {
			paths = append(paths, filepath.Join(dir, own))
		}
	}
	return paths
}
