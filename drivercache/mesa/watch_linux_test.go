package mesa

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// item returns a file of Mesa's cache, of link results (1) or machine code (0).
func item(kind uint32) []byte {
	b := []byte("\x01e30ec083afc1a38fca12983c5992e85265ec1387\x00llvmpipe\x00\x08")
	b = append(b, make([]byte, 8)...)
	b = append(b, make([]byte, -len(b)&3)...)
	b = binary.NativeEndian.AppendUint32(b, kind)
	return append(b, "compressed data"...)
}

func TestLinkResult(t *testing.T) {
	for _, test := range []struct {
		name string
		head []byte
		want bool
	}{
		{"link", item(1), true},
		{"machine code", item(0), false},
		{"empty", nil, false},
		{"another version", append([]byte{2}, item(1)[1:]...), false},
		{"cut", item(1)[:60], false},
		{"no strings", bytes.Repeat([]byte{1}, 100), false},
	} {
		if got := linkResult(test.head); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestLostEntries(t *testing.T) {
	for text, want := range map[string]bool{"": true, "\x00\x00\x00": true, "\x00\x01": false, string(item(0)): false} {
		if IsLost([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestEntry(t *testing.T) {
	hash := strings.Repeat("ab", 20)
	for path, want := range map[string]string{
		"mesa/mesa_shader_cache/ab/" + hash[2:]:         hash,
		"mesa/mesa_shader_cache/index":                  "",
		"mesa/mesa_shader_cache/ab/" + hash:             "",
		"mesa/mesa_shader_cache_db/part1/mesa_cache.db": "",
		"nvidia/mesa_shader_cache/ab/" + hash[2:]:       "",
	} {
		if got := Entry(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Files of two caches are counted, and neither an index nor a folder with such a name.
func TestCountEntries(t *testing.T) {
	home, file := t.TempDir(), strings.Repeat("ab", 19)
	for _, name := range []string{"a/" + ItemsFolder + "/ab/" + file, "b/" + ItemsFolder + "/cd/" + file, "a/" + ItemsFolder + "/index", file + "/x"} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if n := CountEntries(home); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// The watch sees new machine code and what is opened, in old and new folders, and neither
// results of linking nor its own reads.
func TestWatch(t *testing.T) {
	driver := t.TempDir()
	if _, err := NewWatch(driver); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("without a cache: %v", err)
	}
	cache := filepath.Join(driver, Folder, ItemsFolder)
	name := func(n string) string { return strings.Repeat(n, 20) }
	file := func(n string) string { return filepath.Join(cache, n, name(n)[2:]) }
	write := func(n string, kind uint32) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file(n)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file(n)+".tmp", item(kind), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file(n)+".tmp", file(n)); err != nil {
			t.Fatal(err)
		}
	}
	write("01", 0)
	w, err := NewWatch(driver)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := func(when string, added, read []string) {
		t.Helper()
		gotAdded, gotRead := w.Changes()
		slices.Sort(gotAdded)
		if !slices.Equal(slices.Compact(gotAdded), added) || !slices.Equal(gotRead, read) {
			t.Errorf("%s: added %q, read %q; want %q, %q", when, gotAdded, gotRead, added, read)
		}
	}
	want("nothing", nil, nil)
	write("02", 0)
	want("a new folder", []string{name("02")}, nil)
	write("03", 1)
	want("a result of linking", nil, nil)
	write("01", 0)
	want("replaced", []string{name("01")}, nil)
	for _, n := range []string{"01", "02"} {
		f, err := os.Open(file(n))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	want("opened", nil, []string{name("01"), name("02")})
	want("nothing more", nil, nil)
}
