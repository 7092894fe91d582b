package drivercache

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWritten(t *testing.T) {
	before, known := Written()
	if !known {
		t.Skip("this system does not count what a process writes")
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "file"), make([]byte, 12345), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, _ := Written(); after-before < 12345 || after-before > 20000 {
		t.Errorf("%d bytes were written", after-before)
	}
}
