package corpus_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/lab/corpus"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// files returns the texts of a new corpus by name.
func files(t *testing.T, o corpus.Options) (string, map[string]string, corpus.Contents) {
	t.Helper()
	dir := t.TempDir()
	contents, err := corpus.Generate(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		texts[strings.TrimPrefix(name, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, texts, contents
}

func TestEqualOptionsGiveEqualFiles(t *testing.T) {
	o := corpus.Options{Programs: 60, Seed: 7, Faults: true, Heavy: true}
	_, first, _ := files(t, o)
	_, second, _ := files(t, o)
	if !maps.Equal(first, second) {
		t.Error("files differ")
	}
	o.Seed = 8
	if _, other, _ := files(t, o); maps.Equal(first, other) {
		t.Error("another seed gives the same files")
	}
}

// TestContents reads a whole corpus and compares what it has with its description.
func TestContents(t *testing.T) {
	dir, texts, contents := files(t, corpus.Options{Programs: 1500, Seed: 1, Faults: true, Heavy: true})
	reader := manifest.Reader{FileOptions: shader.FileOptions{Include: []string{filepath.Join(dir, corpus.IncludeDir)}}}
	keys := map[shader.Key]int{}
	for _, argument := range []string{corpus.SourceDir, corpus.Manifest} {
		for _, p := range reader.Read(filepath.Join(dir, argument)) {
			if p.Err != nil {
				t.Fatal(p.Err)
			}
			keys[p.Source.Key()]++
		}
	}
	if want := contents.Healthy + contents.Composed; len(keys) != want || contents.Healthy != 1500 {
		t.Errorf("%d keys, want %d: %+v", len(keys), want, contents)
	}
	count := func(part string) (n int) {
		for name, text := range texts {
			if strings.Contains(name+text, part) {
				n++
			}
		}
		return n
	}
	for part, want := range map[string]int{
		"/copies/": contents.Duplicates, "/errors/": contents.Errors, "/faults/": contents.Faults, "/heavy/": contents.Heavy,
		corpus.CrashMarker: contents.Faults / 3, corpus.HangMarker: contents.Faults / 3, corpus.MemoryMarker: contents.Faults / 3,
		"#version 460": contents.Newer,
	} {
		if got := count(part); got != want || want == 0 {
			t.Errorf("%d of %s, want %d", got, part, want)
		}
	}
	if read, err := corpus.Read(dir); err != nil || read != contents {
		t.Errorf("read %+v, %v", read, err)
	}
}

// TestDriversAcceptTheCorpus compiles a program of each family, and what has to fail.
func TestDriversAcceptTheCorpus(t *testing.T) {
	dir, _, contents := files(t, corpus.Options{Programs: 16, Seed: 3})
	reader := manifest.Reader{FileOptions: shader.FileOptions{Include: []string{filepath.Join(dir, corpus.IncludeDir)}}}
	gl := gltest.Open(t)
	compile := func(argument string) (good, bad int) {
		for _, p := range reader.Read(filepath.Join(dir, argument)) {
			if p.Err != nil {
				bad++
				continue
			}
			gl.Compile(t.Context(), []*shader.Source{p.Source}, func(_ int, _ shader.Program, err error) {
				if err != nil {
					bad++
					t.Log(err)
				} else {
					good++
				}
			})
		}
		return good, bad
	}
	if good, bad := compile(corpus.SourceDir); good != contents.Healthy || bad != 0 {
		t.Errorf("%d compile and %d do not, of %+v", good, bad, contents)
	}
	if good, bad := compile(corpus.ErrorDir); good != 0 || bad != contents.Errors {
		t.Errorf("%d compile and %d do not, of %+v", good, bad, contents)
	}
}
