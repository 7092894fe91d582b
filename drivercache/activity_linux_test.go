package drivercache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/drivercache/mesa"
)

func TestObserve(t *testing.T) {
	dir := t.TempDir()
	if a := Observe(dir)(); a != (Activity{}) {
		t.Errorf("of nothing: %+v", a)
	}
	entry := func(n string) string { // all in one folder, which is watched from the begin
		return filepath.Join(dir, mesa.Folder, mesa.ItemsFolder, "01", strings.Repeat(n, 19))
	}
	writeFile(t, entry("01"), "machine code")
	writeFile(t, entry("02"), "machine code")
	end := Observe(dir)
	if _, err := os.ReadFile(entry("01")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, entry("03"), strings.Repeat("more ", 1000))
	if _, err := os.ReadFile(entry("03")); err != nil { // it was not there before
		t.Fatal(err)
	}
	if a := end(); a.Read != 1 || a.Added != 1 || a.Bytes < 5000 {
		t.Errorf("%+v", a)
	}
}
