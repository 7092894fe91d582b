//go:build unix && !aix && !solaris

package drivercache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/drivercache/nvidia"
)

func TestMergeDoesNotWaitForUsers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	slots := writeSlots(t, dir, 0, 1)
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
	// Every driver's directory has the folder; where it is empty, a user of it is not waited for.
	if err := os.MkdirAll(filepath.Join(dir, nvidia.Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	user := share(t, dir)
	if report, err := Merge(dir); err != nil || report.Slots != 0 {
		t.Errorf("beside a user: merged %+v, %v", report, err)
	}
	release(t, user)
}

func TestMergeMakesNoLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	if report, err := Merge(dir); err != nil || report.Slots != 0 {
		t.Errorf("merged %+v, %v", report, err)
	}
	if _, err := os.Lstat(dir + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a lock file: %v", err)
	}
}
