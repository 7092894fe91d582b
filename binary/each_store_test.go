package binary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEachStore(t *testing.T) {
	dir, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, renderer := range []string{"A", "B", "C"} {
		store, err := dir.Store(Fingerprint{Vendor: "Test", Renderer: renderer, Version: "1", Formats: []uint32{1}})
		if err != nil {
			t.Fatal(err)
		}
		blob := testBlob(0)
		blob.Fingerprint = store.Fingerprint().Digest()
		if err := errors.Join(store.Put(blob), store.Record(nil, Counters{Compiles: 1}), store.Close()); err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(store.Path()))
	}
	var visited, unknown []string
	visit := func(name string, store *Store) error {
		visited = append(visited, name)
		return nil
	}
	// The fingerprint is also in manifest.json.
	must(t, os.Remove(filepath.Join(dir.Path(), names[1], "fingerprint.json")))
	must(t, dir.EachStore(visit, func(name string) { unknown = append(unknown, name) }))
	if !slices.Equal(visited, names) || len(unknown) > 0 {
		t.Errorf("visited %q, unknown %q", visited, unknown)
	}
	for _, file := range []string{"fingerprint.json", "manifest.json"} {
		if err := os.Remove(filepath.Join(dir.Path(), names[1], file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	visited = nil
	if err := dir.EachStore(visit, func(name string) { unknown = append(unknown, name) }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(visited, []string{names[0], names[2]}) || !slices.Equal(unknown, names[1:2]) {
		t.Errorf("visited %q, unknown %q", visited, unknown)
	}
	stop := errors.New("stop")
	visited = nil
	err = dir.EachStore(func(name string, store *Store) error { return errors.Join(visit(name, store), stop) }, nil)
	if !errors.Is(err, stop) || len(visited) != 1 {
		t.Errorf("%v after %q", err, visited)
	}
}
