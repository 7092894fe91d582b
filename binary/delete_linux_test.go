package binary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What cannot be read is not deleted, and Clear says so.
func TestClearOfAFolderThatCannotBeRead(t *testing.T) {
	for i, name := range []string{"driver/mesa", "driver/nvidia/GLCache/0123", "fp/blobs", "fp/blobs/ab", "fp", "sources", "remote/0a1b2c3d", ".import/ready"} {
		d, _, _ := fillForDeletion(t)
		folder := filepath.Join(d.path, strings.Replace(name, "fp", testFingerprint.DirName(), 1))
		writeTestFile(t, filepath.Join(folder, "file"), nil, start)
		must(t, os.Chmod(folder, fs.FileMode(i%2)<<8)) // every other one gives names
		var err error
		withoutPrivileges(func() { _, err = d.Clear(PruneOptions{}) })
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), folder) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, errors.Join(os.Chmod(folder, 0o755), os.RemoveAll(filepath.Join(d.path, ".import.lock"))))
	}
}

// withoutPrivileges calls f on a thread for which modes count, even if the process is root's.
func withoutPrivileges(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with its privileges
		none := [2]unix.CapUserData{}
		if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
			panic(err)
		}
		f()
	}()
	<-done
}
