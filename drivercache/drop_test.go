//go:build unix && !aix && !solaris

package drivercache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// While a process uses the directory the records to drop are noted, and the first merge
// afterwards drops them.
func TestDropWhileInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "driver")
	folder := filepath.Join(dir, "nvidia", "GLCache", strings.Repeat("0", 32), strings.Repeat("0", 16))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	header := append([]byte("CDVN\x00\x00\x03\x00"), make([]byte, 24)...)
	id := "0123456789abcdef"
	toc := append(append(header[:32:32], id...), 32, 0, 0, 0, 1, 0, 0, 0)
	bin := append(append(append(header[:32:32], 9, 9, 9, 9), id...), 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'x')
	for name, data := range map[string][]byte{"shadercache0.toc": toc, "shadercache0.bin": bin} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	items := Items(dir)
	if len(items) != 1 || items[0].Paths != nil || len(items[0].Entry) != 32 {
		t.Fatalf("items %+v", items)
	}
	lock, err := Share(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Drop(dir, []string{items[0].Entry}); !errors.Is(err, ErrInUse) {
			t.Errorf("while in use: %v", err)
		}
	}
	if len(Items(dir)) != 1 {
		t.Error("a record was dropped while the directory was in use")
	}
	release(t, lock)
	if _, err := Merge(dir); err != nil {
		t.Fatal(err)
	}
	if left := Items(dir); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	if _, err := os.Lstat(dir + dropExt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the list is still there: %v", err)
	}
	if err := Drop(dir, nil); err != nil {
		t.Error(err)
	}
}
