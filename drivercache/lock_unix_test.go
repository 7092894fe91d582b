//go:build unix

package drivercache

import (
	"path/filepath"
	"syscall"
	"testing"
)

// What is in the place of a lock and is no file is not opened: that might wait.
func TestLockThatIsAFIFO(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	if err := syscall.Mkfifo(dir+".lock", 0o600); err != nil {
		t.Fatal(err)
	}
	if lock, err := TryExclusive(dir); err == nil {
		lock.Release()
		t.Error("it was locked")
	}
}
