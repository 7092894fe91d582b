package drivercache

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestSetAsideMovesEachDriversFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	entry := filepath.Join("mesa", "mesa_shader_cache", "aa", "one")
	write := func() {
		t.Helper()
		path := filepath.Join(dir, entry)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("machine code"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exists := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	write()
	setAsideIfRequested(dir)
	if !exists(filepath.Join(dir, entry)) || !AsideSince(dir).IsZero() {
		t.Fatal("set aside without a request")
	}
	before := time.Now().Add(-time.Second)
	for range 2 { // the second replaces the first
		write()
		if err := RequestSetAside(dir); err != nil {
			t.Fatal(err)
		}
		setAsideIfRequested(dir)
		if exists(filepath.Join(dir, entry)) || !exists(filepath.Join(dir+asideExt, entry)) || !AsideSince(dir).After(before) {
			t.Fatal("not set aside")
		}
		if !exists(filepath.Join(dir, "mesa", "mesa_shader_cache")) {
			t.Error("a driver that is loaded cannot add files")
		}
	}
	defer func() { rename = os.Rename }()
	rename = func(from, to string) error { // another process starts, and its driver makes its folders
		return errors.Join(os.Rename(from, to), os.MkdirAll(filepath.Join(from, "mesa_shader_cache"), 0o700))
	}
	write()
	if err := SetAside(dir); err != nil || exists(filepath.Join(dir, entry)) || !exists(filepath.Join(dir+asideExt, entry)) {
		t.Error("not set aside beside another process: ", err)
	}
	rename = func(string, string) error { return syscall.EXDEV } // overlayfs has it for folders of an image
	write()
	if err := SetAside(dir); err != nil || exists(filepath.Join(dir, entry)) || !AsideSince(dir).After(before) || !exists(filepath.Join(dir, "mesa", "mesa_shader_cache")) {
		t.Error("what cannot be moved is not deleted: ", err)
	}
	write()
	setAsideIfRequested(dir)
	if !exists(filepath.Join(dir, entry)) {
		t.Error("one request, and set aside twice")
	}
	old := time.Now().Add(-2 * asideTime)
	if err := os.Chtimes(dir+asideExt, old, old); err != nil {
		t.Fatal(err)
	}
	setAsideIfRequested(dir)
	if exists(dir + asideExt) {
		t.Error("kept without end")
	}
}
