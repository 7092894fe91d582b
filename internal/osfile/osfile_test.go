package osfile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openNew(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestLocksExcludeEachOther(t *testing.T) {
	if !HasLocks {
		t.Skip("no locks on this system")
	}
	path := filepath.Join(t.TempDir(), "file")
	first, second := openNew(t, path), openNew(t, path)
	for _, c := range []struct{ first, second, excluded bool }{
		{false, false, false}, {false, true, true}, {true, false, true}, {true, true, true},
	} {
		must(t, TryLock(first, c.first))
		if err := TryLock(second, c.second); errors.Is(err, ErrLocked) != c.excluded {
			t.Errorf("%+v: %v", c, err)
		}
		Unlock(first)
		must(t, TryLock(second, true))
		Unlock(second)
	}
	must(t, TryLock(first, true))
	child, err := ReopenUnnamed(first) // as a child has it until its exec
	must(t, err)
	must(t, Release(first))
	must(t, TryLock(second, true))
	must(t, child.Close())
	must(t, KeepAcrossExec(second))
	if err := TryLock(first, true); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a closed file: %v", err)
	}
}

func TestByteLocksExcludeEachOther(t *testing.T) {
	if !HasByteLocks {
		t.Skip("no locks on this system")
	}
	path := filepath.Join(t.TempDir(), "file")
	first, second := openNew(t, path), openNew(t, path)
	const far = 1 << 61 // no byte of the file
	must(t, TryLockByte(first, far))
	if err := TryLockByte(second, far); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	must(t, TryLockByte(second, far+1))
	must(t, openNew(t, path).Close())
	if err := TryLockByte(second, far); !errors.Is(err, ErrLocked) {
		t.Errorf("closing another open file released the lock: %v", err)
	}
	UnlockByte(first, far)
	must(t, TryLockByte(second, far))
	must(t, second.Close())
	must(t, TryLockByte(first, far))
	must(t, first.Close())
	if err := TryLockByte(first, far); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a closed file: %v", err)
	}
}

func TestUnnamedFile(t *testing.T) {
	f, err := CreateUnnamed("osfile-test-*")
	must(t, err)
	if _, err := os.Lstat(f.Name()); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file has a name: %v", err)
	}
	_, err = f.WriteString("text")
	must(t, err)
	again, err := ReopenUnnamed(f)
	must(t, err)
	data, err := io.ReadAll(io.NewSectionReader(again, 0, 4))
	if err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	must(t, again.Close())
	must(t, CloseUnnamed(f))
	if _, err := ReopenUnnamed(f); err == nil {
		t.Error("a closed file was opened again")
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if _, err := CreateUnnamed("x"); runtime.GOOS == "linux" && err == nil {
		t.Error("created in a missing directory")
	}
}

func TestWriteReplacesWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	must(t, WriteFile(path, []byte("one")))
	must(t, os.Chmod(path, 0o640))
	write := func(text string, failure error) error {
		return WriteUnsynced(path, func(w *bufio.Writer) error {
			_, err := w.WriteString(text)
			return errors.Join(err, failure)
		})
	}
	must(t, write("two", nil))
	failure := errors.New("half way")
	if err := write("three", failure); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "two" {
		t.Errorf("%q, %v", data, err)
	}
	info, err := os.Stat(path)
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	if list := List(dir); len(list) != 1 {
		t.Errorf("left behind: %v", list)
	}
	if err := WriteFile(filepath.Join(dir, "missing", "file"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a missing directory: %v", err)
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	f := openNew(t, path)
	if !IsNamed(f, path) {
		t.Error("a file is not the one at its path")
	}
	must(t, WriteFile(path, nil))
	if IsNamed(f, path) || IsNamed(f, filepath.Join(dir, "missing")) {
		t.Error("a file that was replaced is the one at its path")
	}
	must(t, os.Symlink(dir, link))
	if !IsLink(link) || IsLink(path) || IsLink(filepath.Join(dir, "missing")) {
		t.Error("IsLink is wrong")
	}
	if len(List(dir)) != 2 || List(link) != nil || List(path) != nil {
		t.Error("List is wrong")
	}
}

func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	info, err := openNew(t, path).Stat()
	must(t, err)
	if uid, ok := Owner(info); ok && uid != os.Getuid() {
		t.Errorf("owner %d", uid)
	}
	if WritableByOthers(info) {
		t.Errorf("mode %v is writable by others", info.Mode())
	}
	must(t, os.Chmod(path, 0o620))
	info, err = os.Stat(path)
	must(t, err)
	if runtime.GOOS != "windows" && !WritableByOthers(info) {
		t.Errorf("mode %v is not writable by others", info.Mode())
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, read := range []time.Duration{-time.Hour, time.Hour} {
		must(t, os.Chtimes(path, at.Add(read), at))
		info, err = os.Stat(path)
		must(t, err)
		if got := LastUse(info); !got.Equal(at) && !got.Equal(at.Add(max(read, 0))) {
			t.Errorf("last use %v, read %v after the write", got, read)
		}
	}
}
