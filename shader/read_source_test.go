package shader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func TestReadSource(t *testing.T) {
	tests := []struct {
		name  string
		fsys  fstest.MapFS
		want  string // behind "#version 450 core\n#line 1 0\n"
		files []string
	}{
		{"plain", files("k/a.comp", "x\ny\n"), "x\ny\n", []string{"k/a.comp"}},
		{"no line end", files("k/a.comp", "x"), "x", []string{"k/a.comp"}},
		{"include", files("k/a.comp", "x\n#include \"b.glsl\"\ny\n", "k/b.glsl", "b\n"),
			"x\n#line 1 1\nb\n#line 3 0\ny\n", []string{"k/a.comp", "k/b.glsl"}},
		{"include without line end", files("k/a.comp", "#include \"b.glsl\"", "k/b.glsl", "b // c"),
			"#line 1 1\nb // c\n#line 2 0\n", []string{"k/a.comp", "k/b.glsl"}},
		{"blanks and comments", files("k/a.comp", " # include /* b */ \"b.glsl\" // c\ny\n", "k/b.glsl", "b\n"),
			"#line 1 1\nb\n#line 2 0\ny\n", []string{"k/a.comp", "k/b.glsl"}},
		{"nested, other folders", files("k/a.comp", "#include \"sub/b.glsl\"\n", "k/sub/b.glsl", "#include \"../../c.glsl\"\nb\n", "c.glsl", "c\n"),
			"#line 1 1\n#line 1 2\nc\n#line 2 1\nb\n#line 2 0\n", []string{"k/a.comp", "k/sub/b.glsl", "c.glsl"}},
		{"twice", files("k/a.comp", "#include \"b.glsl\"\n#include \"./b.glsl\"\n", "k/b.glsl", "b\n"),
			"#line 1 1\nb\n#line 2 0\n#line 1 1\nb\n#line 3 0\n", []string{"k/a.comp", "k/b.glsl"}},
		{"in comments", files("k/a.comp", "// #include \"no\"\n/* #include \"no\"\n#include \"no\"\n*/\n// a \\\n#include \"no\"\n"),
			"// #include \"no\"\n/* #include \"no\"\n#include \"no\"\n*/\n// a \\\n#include \"no\"\n", []string{"k/a.comp"}},
		{"not an include", files("k/a.comp", "#includes \"no\"\n"), "#includes \"no\"\n", []string{"k/a.comp"}},
		{"continued", files("k/a.comp", "#include \\\n\"b.glsl\"\ny\n", "k/b.glsl", "b\n"),
			"#line 1 1\nb\n#line 3 0\ny\n", []string{"k/a.comp", "k/b.glsl"}},
		{"windows lines", files("k/a.comp", "\uFEFF#include \"b.glsl\"\r\ny\r\n", "k/b.glsl", "\uFEFFb\r\n"),
			"#line 1 1\nb\n#line 2 0\ny\n", []string{"k/a.comp", "k/b.glsl"}},
		{"conditional", files("k/a.comp", "#if 0\n#if 1\n#include \"b.glsl\"\n#endif\n#else\nx\n#endif\ny\n#if 1\n#endif\n", "k/b.glsl", "b\n"),
			"#if 0\n#if 1\n#line 1 1\nb\n#line 4 0\n#endif\n#line 5 0\n#else\n#line 6 0\nx\n#endif\n#line 8 0\ny\n#if 1\n#endif\n",
			[]string{"k/a.comp", "k/b.glsl"}},
		// The line must not continue in the including file.
		{"backslash at the end of an included file", files("k/a.comp", "#include \"b.glsl\"\ny\n", "k/b.glsl", "b // \\"),
			"#line 1 1\nb // \n#line 2 0\ny\n", []string{"k/a.comp", "k/b.glsl"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := ReadSource(test.fsys, "k/a.comp", nil)
			must(t, err)
			if want := "#version 450 core\n#line 1 0\n" + test.want; s.Text() != want {
				t.Errorf("got\n%s\nwant\n%s", s.Text(), want)
			}
			if s.Name() != "a" || !slices.Equal(s.Files(), test.files) {
				t.Errorf("name %q, files %q, want %q", s.Name(), s.Files(), test.files)
			}
		})
	}
}

func TestReadSourceVersionAndDefines(t *testing.T) {
	fsys := files("a.b.comp", "// licence\n#version 430\n#include \"b.glsl\"\n", "b.glsl", "b\n")
	s, err := ReadSource(fsys, "a.b.comp", Defines{"N": "4"})
	must(t, err)
	if want := "#version 430\n#define N 4\n#line 1 0\n// licence\n\n#line 1 1\nb\n#line 4 0\n"; s.Text() != want {
		t.Errorf("got\n%s\nwant\n%s", s.Text(), want)
	}
	if s.Name() != "a.b" {
		t.Errorf("name %q", s.Name())
	}
}

func TestReadSourceRefuses(t *testing.T) {
	deep := fstest.MapFS{}
	for i := range maxIncludeDepth + 2 {
		deep[fmt.Sprintf("%d", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "#include \"%d\"\n", i+1)}
	}
	deep["a.comp"] = &fstest.MapFile{Data: []byte("#include \"0\"\n")}
	wide := files("a.comp", strings.Repeat("#include \"b\"\n", maxIncludes+1), "b", "")
	large := files("a.comp", strings.Repeat("#include \"b\"\n", 17), "b", strings.Repeat(strings.Repeat("x", 1023)+"\n", 1<<10))
	unused := files("a.comp", "#if 0\n"+strings.Repeat(strings.Repeat("x", 1023)+"\n", 17<<10)+"#endif\n")
	tests := []struct {
		name string
		fsys fstest.MapFS
		want string
	}{
		{"missing", files(), "a.comp"},
		{"missing include", files("a.comp", "\n#include \"b\"\n"), `a.comp:2: #include "b": file does not exist`},
		{"itself", files("a.comp", "#include \"a.comp\"\n"), "a.comp -> a.comp"},
		{"cycle", files("a.comp", "#include \"b\"\n", "b", "#include \"c\"\n", "c", "#include \"b\"\n"), "a.comp -> b -> c -> b"},
		{"outside", files("a.comp", "#include \"../b\"\n"), `a.comp:1: #include "../b"`},
		{"absolute", files("a.comp", "#include \"/b\"\n"), `a.comp:1: #include "/b"`},
		{"angle brackets", files("a.comp", "x\n#include <b>\n"), "a.comp:2: #include <b>"},
		{"no operand", files("a.comp", "#include\n"), "a.comp:1: #include :"},
		{"empty operand", files("a.comp", "#include \"\"\n"), "double quotes"},
		{"two operands", files("a.comp", "#include \"b\" \"c\"\n"), "double quotes"},
		{"folder", files("a.comp", "#include \"b\"\n", "b/c", ""), "b"},
		{"open comment", files("a.comp", "#include \"b\"\n", "b", "/* x\n"), "b: a comment that starts with /*"},
		{"open condition", files("a.comp", "#include \"b\"\n", "b", "#if 1\n"), "b: an #if has no #endif"},
		{"condition of the includer", files("a.comp", "#if 1\n#include \"b\"\n", "b", "#endif\n"), "b: an #else or #endif has no #if"},
		{"else of the includer", files("a.comp", "#if 1\n#include \"b\"\n", "b", "#else\n"), "b: an #else or #endif has no #if"},
		{"too deep", deep, "deeper than 32"},
		{"too many", wide, "more than 4096 includes"},
		{"too large", large, "larger than 16777216 bytes"},
		{"too large to read", unused, "larger than 16777216 bytes"},
		{"binary", files("a.comp", "\x00"), "NUL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadSource(test.fsys, "a.comp", nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %.300v, want one line with %q", err, test.want)
			}
		})
	}
	if _, err := ReadSource(files(), "a.comp", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if _, err := ReadSource(os.DirFS("."), "a\xff.comp", nil); err == nil || err.Error() != `shader: read source: "a\xff.comp" is not UTF-8, as names have to be: rename it` {
		t.Errorf("a name that is not UTF-8: got %v", err)
	}
	if _, err := ReadSource(files(), "../a.comp", nil); err == nil {
		t.Error("a file outside the file system: no error")
	}
}

// The reference compiler, where it is installed, must report the line of the file in
// which the mistake is.
func TestReferenceCompilerNamesTheUsersLines(t *testing.T) {
	compiler, err := exec.LookPath("glslangValidator")
	if err != nil {
		t.Log("glslangValidator is not installed: line numbers are not compared with its log")
		return
	}
	fsys := files(
		"a.comp", "/* licence\n*/ #version 430 // why\n#if 0\n#include \"b.glsl\"\n#else\n#include \"c.glsl\"\n#endif\nvoid main() {\n  int x = WRONG_A;\n}\n",
		"b.glsl", "b\nb\nb\n",
		"c.glsl", "\nint c() { return WRONG_C; }\n\n\n")
	s, err := ReadSource(fsys, "a.comp", Defines{"N": "1"})
	must(t, err)
	command := exec.Command(compiler, "--stdin", "-C", "-S", "comp")
	command.Stdin = strings.NewReader(s.Text())
	log, _ := command.CombinedOutput()
	for _, want := range []string{"ERROR: 2:2: 'WRONG_C'", "ERROR: 0:9: 'WRONG_A'"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log has no %q:\n%s\n%s", want, log, s.Text())
		}
	}
}

func FuzzReadSource(f *testing.F) {
	f.Add("#include \"b\"\n", "#include \"c\"\n", "x\n")
	f.Add("/* #include \"b\" */\n#include \"b\"\\\n", "// a \\\n", "#if 1\n#include \"b\"\n#endif")
	f.Add("#version 430 /* \n */", "#line 5\n", "\\")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		s, err := ReadSource(files("a", a, "b", b, "c", c), "a", nil)
		if err != nil {
			return
		}
		again, err := ReadSource(files("a", a, "b", b, "c", c), "a", nil)
		if err != nil || again.Key() != s.Key() {
			t.Fatalf("reading twice: %v", err)
		}
		if !strings.Contains(a+b+c, "#") && s.Text() != "#version 450 core\n#line 1 0\n"+normalize(a) {
			t.Fatalf("text without directives was changed to %q", s.Text())
		}
		scanner := NewScanner(s.Text())
		for scanner.Next() {
			if name, _ := scanner.directive(); name == "include" {
				t.Fatalf("an #include is left in %q", s.Text())
			}
		}
	})
}
