package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// TestDriversAcceptIncludes compiles the sources of shader/testdata/include, each a way
// in which real projects write includes.
func TestDriversAcceptIncludes(t *testing.T) {
	archives, err := filepath.Glob("../../shader/testdata/include/*.txtar")
	if err != nil || len(archives) < 20 {
		t.Fatal(archives, err)
	}
	var sources []*shader.Source
	for _, archive := range archives {
		source, err := readArchive(t, archive)
		if err != nil {
			t.Errorf("%s: %v", archive, err)
			continue
		}
		sources = append(sources, source.WithName(filepath.Base(archive)))
	}
	gltest.Open(t).Compile(t.Context(), sources, func(i int, program shader.Program, err error) {
		if err != nil {
			t.Errorf("%v\n%s", err, sources[i].Text())
		}
	})
}

// readArchive unpacks an archive and reads its main.comp, with the -I of its comment.
func readArchive(t *testing.T, file string) (*shader.Source, error) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	folder, main := t.TempDir(), ""
	for _, f := range archive.Files {
		path := filepath.Join(folder, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(f.Name) == "main.comp" {
			main = path
		}
	}
	var o shader.FileOptions
	for _, dir := range strings.Split(string(archive.Comment), "-I ")[1:] {
		o.Include = append(o.Include, filepath.Join(folder, strings.TrimSpace(dir)))
	}
	return shader.ReadFile(main, o)
}
