package lint

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/shader"
)

// TestGolden compares findings with the comments of the files: "want RULE" on the
// line of a finding, "want-above RULE" on the line after it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.*")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, got := wanted(string(text)), []string{}
		for _, f := range Check(file, string(text)) {
			got = append(got, fmt.Sprintf("%d %s", f.Line, f.Rule))
			if f.Message == "" || f.Hint == "" || f.Column < 1 || f.File != file {
				t.Errorf("%v is not complete", f)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", file, got, want)
		}
		if bad := strings.Contains(file, "bad"); bad != (len(want) > 0) {
			t.Errorf("%s is in the wrong folder", file)
		}
	}
}

func wanted(text string) []string {
	list := []string{}
	for i, line := range strings.Split(text, "\n") {
		if _, rule, ok := strings.Cut(line, "// want "); ok {
			list = append(list, fmt.Sprintf("%d %s", i+1, rule))
		}
		if _, rule, ok := strings.Cut(line, "// want-above "); ok {
			list = append(list, fmt.Sprintf("%d %s", i, rule))
		}
	}
	return list
}

// TestProjectKernels checks the project's own shaders. The work for them is far below the
// limit.
func TestProjectKernels(t *testing.T) {
	root := os.DirFS("../..")
	n, most, worst := 0, 0, ""
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || name == "lab/lint/testdata") {
			return fs.SkipDir
		}
		if extension := filepath.Ext(name); d.IsDir() || extension != ".comp" && extension != ".glsl" {
			return nil
		}
		n++
		source, err := shader.ReadSource(root, name, nil)
		if err != nil {
			return err
		}
		c := newCheck(source.Files(), source.Text())
		for _, f := range c.findings {
			t.Error(f.Finding)
		}
		tokens, _ := tokenize(source.Text())
		if each := c.effort.spent / max(1, len(tokens)); each > most {
			most, worst = each, name
		}
		return nil
	})
	if err != nil || n < 3 {
		t.Errorf("%d kernels, %v", n, err)
	}
	if most == 0 || most > effortPerToken/3 {
		t.Errorf("%s reads %d tokens for each of its own", worst, most)
	}
	t.Logf("%s reads %d tokens for each of its own", worst, most)
}

func TestFindingsNameIncludedFiles(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{
		"main.comp": "#version 450\nlayout(local_size_x = 2) in;\n#include \"sync.glsl\"\nvoid main() {\n if (gl_LocalInvocationIndex > 0u)\n  sync();\n}\n",
		"sync.glsl": "void sync() {\n\n  barrier();\n}\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source, err := shader.ReadSource(os.DirFS(folder), "main.comp", nil)
	if err != nil {
		t.Fatal(err)
	}
	findings := CheckSource(source)
	if len(findings) != 1 || findings[0].File != "sync.glsl" || findings[0].Line != 3 || findings[0].Column != 3 ||
		!strings.Contains(findings[0].Message, "main.comp line 5") {
		t.Errorf("findings are %v", findings)
	}
}

func TestUnreadable(t *testing.T) {
	loops := strings.Repeat("for (int i = 0; i < 9; ++i) {", 40) + strings.Repeat("}", 40)
	tests := map[string]string{
		"brackets": "void main() { if (true) { barrier(); }",
		"deep":     body("int a = " + nested("(", "1", ")", maxNesting) + ";"),
		"deep if":  nested("#if 1\n", "int a;\n", "#endif\n", maxNesting+1),
		"nesting":  "void main() {" + strings.Repeat("{", 200) + strings.Repeat("}", 200) + "}",
		"loops":    "void main() {" + loops + "}",
		"macros":   "#define A B B\n#define B C C\n#define C D D\n#define D " + strings.Repeat("x ", 5000) + "\nvoid main() {" + strings.Repeat("A ", 50) + "}",
	}
	for name, text := range tests {
		if findings := Check(name, text); len(findings) != 1 || findings[0].Rule != unreadable {
			t.Errorf("%s: findings are %v", name, findings)
		}
	}
}

// An unreadable part is reported at its position, also after parts that are
// readable.
func TestUnreadableIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"void f() {}\nvoid main( {\n":                   "2:12",
		"void main() {\n int a[3;\n}":                   "2:7",
		"void main() {\r\n f(3; }\r\n":                  "2:3",
		"void main() { }\n}\n":                          "2:1",
		"void main() {\n if (true) {\n barrier();\n}\n": "1:13",
	} {
		findings := Check("a", text)
		if len(findings) != 1 || findings[0].Rule != unreadable {
			t.Fatalf("%q: findings are %v", text, findings)
		}
		if at := fmt.Sprintf("%d:%d", findings[0].Line, findings[0].Column); at != want {
			t.Errorf("%q: found at %s, not %s", text, at, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, text := range []string{"", "]", "x]=", "a[", "=", "void f(", "#", "#define", "#define F(\nF(F(", "#line 0 9", "for(;", "{{{", "\\", "/*", "1e+", "layout(local_size_x="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, finding := range Check("fuzz", text) {
			if finding.Rule == "" || finding.Message == "" || hints[finding.Rule] == "" {
				t.Errorf("%v is not complete", finding)
			}
		}
	})
}
