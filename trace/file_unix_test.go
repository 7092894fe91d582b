//go:build unix

package trace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/trace"
)

// A trace goes through a FIFO to the process that reads it, such as one that compresses it.
func TestWriteToFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f := trace.NewFile(path)
	wrote := make(chan error, 1)
	go func() { wrote <- f.Write(trace.String("gpu", "none")) }()
	// Opened for both, the test does not wait for a writer that never comes.
	fifo, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Fatalf("the FIFO is %v now, %v", info.Mode(), err)
	}
	data := make([]byte, 1<<16)
	n, err := fifo.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	recording, err := trace.ReadChrome(bytes.NewReader(data[:n]))
	if err != nil || !slices.Contains(recording.About, trace.String("gpu", "none")) {
		t.Errorf("%+v, %v", recording, err)
	}
}
