package osfile

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A file system that reports no size is not a full one, and one that reports more than there can be
// leaves room to add to it.
func TestFreeBytes(t *testing.T) {
	if free, known := FreeBytes(t.TempDir()); !known || free <= 0 {
		t.Errorf("%d bytes are free, known: %v", free, known)
	}
	if free, known := FreeBytes("/proc"); known {
		t.Errorf("%d bytes are free in /proc", free)
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(math.MaxInt64)); err != nil {
		t.Skip("a volume takes a privilege:", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	if free, known := FreeBytes(dir); !known || free <= 0 || free > math.MaxInt64/2 {
		t.Errorf("%d bytes are free of 8 EiB, known: %v", free, known)
	}
}
