package drivercache

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Mesa's count of bytes is that of the entries that are there, in blocks, whatever it was; and a
// link or a short file in the place of the index is left alone.
func TestRecount(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	folder := filepath.Join(dir, "mesa", "mesa_shader_cache")
	write := func(name string, size int) string {
		path := filepath.Join(folder, name)
		must(os.MkdirAll(filepath.Dir(path), 0o700))
		must(os.WriteFile(path, make([]byte, size), 0o600))
		return path
	}
	Recount(dir) // without an index
	write("5e/"+strings.Repeat("0", 38), 1)
	write("5e/"+strings.Repeat("1", 38), 4097)
	write("5e/"+strings.Repeat("2", 38)+".tmp", 1)
	write("marker", 1)
	index := write("index", 64)
	must(os.WriteFile(index, binary.NativeEndian.AppendUint64(nil, 1<<30), 0o600))
	Recount(dir)
	data, err := os.ReadFile(index)
	must(err)
	if n := binary.NativeEndian.Uint64(data); n != 3*4096 {
		t.Errorf("the index counts %d bytes", n)
	}
	other := write("other", 8)
	must(os.Remove(index))
	must(os.Symlink(other, index))
	Recount(dir)
	if data, _ := os.ReadFile(other); string(data) != strings.Repeat("\x00", 8) {
		t.Errorf("a link was written through: %q", data)
	}
}
