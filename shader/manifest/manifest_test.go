package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/shader"
)

const kernel = "#version 450 core\nlayout(local_size_x = 1) in;\n"

// write makes files below a new folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func reader() Reader {
	return Reader{
		FileOptions:  shader.FileOptions{Defines: shader.Defines{"TILE": "32"}},
		BuiltinNames: []string{"gemm"},
		Builtin: func(name string) (*shader.Source, error) {
			if name != "gemm" {
				return nil, errors.New("there is no such program")
			}
			return shader.MustSource(name, "void main() {}", nil), nil
		},
	}
}

func TestReadTakesFilesFoldersAndNames(t *testing.T) {
	folder := write(t, map[string]string{
		"a.comp":       kernel + "#include \"part.glsl\"\nvoid main() { part(); }\n",
		"part.glsl":    "void part() {}\n",
		"sub/b.comp":   kernel + "void main() {}\n",
		"empty/a.txt":  "",
		"bad/bad.comp": "#include \"missing.glsl\"\n",
	})
	for _, test := range []struct {
		argument string
		names    string // "!" before those that failed
	}{
		{"gemm", "gemm"},
		{"gemn", "!gemn"},
		{filepath.Join(folder, "a.comp"), "a"},
		{filepath.Join(folder, "sub"), "b"},
		{filepath.Join(folder, "bad"), "!bad"},
		{filepath.Join(folder, "empty"), "!" + filepath.Join(folder, "empty")},
		{filepath.Join(folder, "a.comp", "x"), "!" + filepath.Join(folder, "a.comp", "x")},
	} {
		var names []string
		for _, p := range reader().Read(test.argument) {
			name := p.Name
			if p.Err != nil {
				name = "!" + name
			} else if p.Source.Name() != p.Name {
				t.Errorf("%s: source %q of program %q", test.argument, p.Source.Name(), p.Name)
			}
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != test.names {
			t.Errorf("%s: got %q, want %q", test.argument, got, test.names)
		}
	}
	if all := reader().ReadAll([]string{folder, "gemm"}); len(all) != 4 {
		t.Errorf("%+v", all)
	}
}

func TestDefinesOfTheReaderWin(t *testing.T) {
	folder := write(t, map[string]string{
		"m.json":   `{"programs": [{"name": "x", "file": "k/a.comp", "defines": {"TILE": "8", "DEPTH": "4"}}, {"name": "gemm"}, {"name": "other"}]}`,
		"k/a.comp": kernel + "void main() {}\n",
	})
	list := reader().Read(filepath.Join(folder, "m.json"))
	if len(list) != 3 || list[0].Err != nil || list[1].Err != nil || list[2].Err == nil {
		t.Fatalf("%+v", list)
	}
	text := list[0].Source.Text()
	if !strings.Contains(text, "#define TILE 32") || !strings.Contains(text, "#define DEPTH 4") || list[0].Name != "x" {
		t.Errorf("%s:\n%s", list[0].Name, text)
	}
	if p := (Reader{}).Read(filepath.Join(folder, "m.json"))[1]; p.Err == nil {
		t.Errorf("without built-in programs: %+v", p)
	}
}

func TestManifestsAreReadStrictly(t *testing.T) {
	folder := write(t, map[string]string{
		"misspelt.json": `{"programs": [{"nam": "x"}]}`,
		"empty.json":    `{}`,
		"broken.json":   `{`,
	})
	for name, want := range map[string]string{"misspelt.json": "not a manifest", "empty.json": "lists no programs", "broken.json": "not a manifest"} {
		list := reader().Read(filepath.Join(folder, name))
		if len(list) != 1 || list[0].Err == nil || !strings.Contains(list[0].Err.Error(), want) {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

func TestManifestsCompose(t *testing.T) {
	const text = "void main() {}\n"
	folder := write(t, map[string]string{
		"m.json": `{"programs": [{"name": "x", "file": "k/a.comp", "version": "310 es", "prefix": "#define A\nprecision highp float;"},
			{"name": "y", "file": "k/a.comp", "version": "430", "defines": {"N": "1"}}, {"name": "gemm", "version": "430"}]}`,
		"k/a.comp": text,
	})
	list := (Reader{}).Read(filepath.Join(folder, "m.json"))
	if len(list) != 3 || list[0].Err != nil || list[1].Err != nil || list[2].Err == nil {
		t.Fatalf("%+v", list)
	}
	want := shader.MustSource("", "#version 310 es\n#define A\nprecision highp float;\n"+text, nil)
	if list[0].Source.Key() != want.Key() || list[0].Source.Text() != want.Text() {
		t.Errorf("got %q", list[0].Source.Text())
	}
	if want := shader.MustSource("", "#version 430\n"+text, shader.Defines{"N": "1"}); list[1].Source.Key() != want.Key() {
		t.Errorf("got %q", list[1].Source.Text())
	}
}

func TestLinksToFolders(t *testing.T) {
	folder := write(t, map[string]string{"real/a.comp": kernel, "real/sub/b.comp": kernel, "real/c.glsl": ""})
	link := filepath.Join(folder, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for path, want := range map[string]string{"link": "link/a.comp link/sub/b.comp", "./link/": "link/a.comp link/sub/b.comp", link: link + "/a.comp " + link + "/sub/b.comp"} {
		files, err := Files(path, KernelExt)
		if got := filepath.ToSlash(strings.Join(files, " ")); err != nil || got != filepath.ToSlash(want) {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
}
