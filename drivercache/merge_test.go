//go:build unix && !aix && !solaris

package drivercache

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/shadercache/shadercache/drivercache/nvidia"
)

func TestMergeDoesNotWaitForUsers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	slots := filepath.Join(dir, nvidia.Folder, "GLCache", "00112233445566778899aabbccddeeff", "0123456789abcdef")
	if err := os.MkdirAll(slots, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		for _, extension := range []string{".bin", ".toc"} {
			data, err := os.ReadFile(filepath.Join("nvidia", "testdata", nvidia.App+"0"+extension))
			if err == nil {
				err = os.WriteFile(filepath.Join(slots, nvidia.App+strconv.Itoa(n)+extension), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	user := share(t, dir)
	if _, err := Merge(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	if files, err := os.ReadDir(slots); len(files) != 4 || err != nil {
		t.Errorf("a merge beside a user left %v, %v", files, err)
	}
	release(t, user)
	if report, err := Merge(dir); err != nil || report.Slots != 1 || len(report.Skipped) != 0 {
		t.Errorf("merged %+v, %v", report, err)
	}
	if files, err := os.ReadDir(slots); len(files) != 2 || err != nil {
		t.Errorf("a merge left %v, %v", files, err)
	}
}

func TestMergeOfNoSlots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	if report, err := Merge(dir); err != nil || report.Slots != 0 {
		t.Errorf("merged %+v, %v", report, err)
	}
	if _, err := os.Lstat(dir + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a lock file: %v", err)
	}
}
