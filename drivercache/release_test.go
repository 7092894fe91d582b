//go:build linux

package drivercache

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// A child has the open files of its parent until its exec.
func TestReleaseBesideAStart(t *testing.T) {
	folder, done := filepath.Join(t.TempDir(), "driver"), make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			_ = exec.Command("true").Run()
		}
	}()
	for starting := true; starting; {
		select {
		case <-done:
			starting = false
		default:
		}
		release(t, share(t, folder))
		exclusive, err := TryExclusive(folder)
		if err != nil {
			t.Fatal(err)
		}
		release(t, exclusive)
	}
}
