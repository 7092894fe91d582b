//go:build unix

package nvidia

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A FIFO in the place of the driver's folder is an error: opening it would wait for a writer.
func TestFolderThatIsAFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), Folder)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if root, err := openFolder(path); err == nil {
		root.Close()
		t.Error("it was opened")
	}
}
