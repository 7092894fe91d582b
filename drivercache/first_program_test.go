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

// slotsFolder is a folder of slots as NVIDIA's driver names it.
const slotsFolder = "GLCache/00112233445566778899aabbccddeeff/0123456789abcdef"

// writeSlots copies the slot of the test data to the numbers in a driver's directory, and
// returns the folder.
func writeSlots(t *testing.T, dir string, numbers ...int) string {
	t.Helper()
	folder := filepath.Join(dir, nvidia.Folder, filepath.FromSlash(slotsFolder))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, n := range numbers {
		for _, extension := range []string{".bin", ".toc"} {
			data, err := os.ReadFile(filepath.Join("nvidia", "testdata", nvidia.App+"0"+extension))
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, nvidia.App+strconv.Itoa(n)+extension), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return folder
}

// A process that manages a directory merges what is added before its first program, and
// uses it afterwards.
func TestMergeBeforeTheFirstProgram(t *testing.T) {
	resetProcess(t, nil)
	dir := filepath.Join(t.TempDir(), "driver")
	if state := Manage(dir); !state.Managed {
		t.Fatal(state)
	}
	folder := writeSlots(t, dir, 0, 1)
	if report, err := Merge(dir); err != nil || report.Slots != 1 {
		t.Errorf("before the first program: merged %+v, %v", report, err)
	}
	wantInUse(t, dir)

	other := share(t, dir)
	writeSlots(t, dir, 1)
	if _, err := Merge(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("beside another process: %v", err)
	}
	release(t, other)
	wantInUse(t, dir)

	FirstProgram()
	if _, err := Merge(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("after the first program: %v", err)
	}
	if files, err := os.ReadDir(folder); len(files) != 4 || err != nil {
		t.Errorf("files: %v, %v", files, err)
	}
	if _, err := Merge(filepath.Join(t.TempDir(), "driver")); err != nil {
		t.Errorf("another directory: %v", err)
	}
}
