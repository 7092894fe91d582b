//go:build unix

package osfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func writing(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// Only regular files are replaced.
func TestWriteOutput(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(in("old"), []byte("old"), 0o640))
	must(t, os.Symlink("old", in("link")))
	must(t, os.Symlink("made", in("dangling")))
	must(t, os.Symlink("loop", in("loop")))
	must(t, os.Mkdir(in("folder"), 0o700))

	for name, file := range map[string]string{"new": "new", "old": "old", "link": "old", "dangling": "made"} {
		must(t, WriteOutput(in(name), 0o600, writing("text of "+name)))
		if data, err := os.ReadFile(in(file)); err != nil || string(data) != "text of "+name {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for name, mode := range map[string]fs.FileMode{"link": fs.ModeSymlink, "dangling": fs.ModeSymlink, "old": 0, "new": 0} {
		if info, err := os.Lstat(in(name)); err != nil || info.Mode().Type() != mode {
			t.Errorf("%s became %v, %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(in("old")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, name := range []string{"folder", "loop", "none/file"} {
		if err := WriteOutput(in(name), 0o600, writing("")); err == nil || !strings.Contains(err.Error(), in(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	failed := errors.New("failed")
	err := WriteOutput(in("old"), 0o600, func(w io.Writer) error { return errors.Join(writing("half")(w), failed) })
	if data, _ := os.ReadFile(in("old")); !errors.Is(err, failed) || string(data) == "half" {
		t.Errorf("%v, %q", err, data)
	}
	err = WriteOutput(in("old"), 0o600, func(w io.Writer) error {
		must(t, w.(*os.File).Close())
		return writing("nothing")(w)
	})
	if of, ok := errors.AsType[*fs.PathError](err); !ok || of.Path != in("old") {
		t.Errorf("%v does not name the file", err)
	}
	if left, err := filepath.Glob(in(".*")); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestWriteOutputThroughADevice(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0) // does not wait for a writer
	must(t, err)
	defer reader.Close()
	must(t, WriteOutput(fifo, 0o600, writing("through")))
	must(t, reader.SetReadDeadline(time.Now().Add(10*time.Second)))
	got := make([]byte, 100)
	if n, err := reader.Read(got); err != nil || string(got[:n]) != "through" {
		t.Errorf("%q, %v", got[:n], err)
	}
	if info, err := os.Lstat(fifo); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("%v, %v", info, err)
	}

	device := filepath.Join(dir, "null")
	if err := unix.Mknod(device, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
		device = "/dev/null" // not root: the folder cannot be written, and nothing is lost
	}
	if err := WriteOutput(device, 0o600, writing("nothing")); err != nil && !errors.Is(err, fs.ErrPermission) {
		t.Error(err) // a mount may forbid devices
	}
	if info, err := os.Lstat(device); err != nil || info.Mode().Type() != fs.ModeDevice|fs.ModeCharDevice {
		t.Errorf("%v, %v", info, err)
	}
}
