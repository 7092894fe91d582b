package drivercache

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestItems(t *testing.T) {
	dir := t.TempDir()
	old, recent := time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	for name, used := range map[string]time.Time{
		"nvidia/shadercache0.bin": old,
		"nvidia/shadercache0.toc": recent,
		"nvidia/shadercache1.bin": old,
		"mesa/5e/0123456789":      old,
		"mesa/index":              old,
		"mesa/marker":             old,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if n := Bytes(dir); n != 20 { // those of Items: without Mesa's index and marker
		t.Errorf("%d bytes, not 20", n)
	}
	files := map[string]int{}
	for _, item := range Items(dir) {
		if item.Bytes != int64(5*len(item.Paths)) {
			t.Errorf("%+v", item)
		}
		name := filepath.Base(item.Paths[0])
		if len(item.Paths) == 2 {
			name = "shadercache0.bin"
			if !item.LastUse.Equal(recent) {
				t.Errorf("last use %v, not %v", item.LastUse, recent)
			}
		}
		files[name] = len(item.Paths)
	}
	want := map[string]int{"shadercache0.bin": 2, "shadercache1.bin": 1, "0123456789": 1}
	if !maps.Equal(files, want) {
		t.Errorf("items %v, want %v", files, want)
	}
	if n, list := Bytes(dir+"/missing"), Items(dir+"/missing"); n != 0 || len(list) != 0 {
		t.Errorf("a missing folder has %d bytes, %v", n, list)
	}
}
