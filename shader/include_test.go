package shader

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// write makes files below a new folder and returns it.
func write(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	folder := t.TempDir()
	must(t, os.CopyFS(folder, files))
	return folder
}

func readFile(t *testing.T, file string, include ...string) *Source {
	t.Helper()
	s, err := ReadFile(file, FileOptions{Include: include})
	must(t, err)
	return s
}

// TestKeysDoNotDependOnTheWorkingDirectory reads one source by many paths.
func TestKeysDoNotDependOnTheWorkingDirectory(t *testing.T) {
	folder := write(t, files(
		"k/deep/a.comp", "#include \"../../common/m.glsl\"\n#include \"../b.glsl\"\n#include <m.glsl>\n#if 1\n#include \"missing.glsl\"\n#endif\n",
		"k/b.glsl", "#include \"deep/../../common/m.glsl\"\n",
		"common/m.glsl", "m\n"))
	must(t, os.Symlink("k", filepath.Join(folder, "link")))
	want := readFile(t, filepath.Join(folder, "k/deep/a.comp"), filepath.Join(folder, "common"))
	if strings.Count(want.Text(), "m\n#line") != 3 || strings.Contains(want.Text(), folder) || len(want.Files()) != 3 {
		t.Errorf("files %q, text\n%s", want.Files(), want.Text())
	}
	for _, place := range []struct{ from, file, include string }{
		{".", "k/deep/a.comp", "common"},
		{".", "./k/../k/deep/a.comp", "./common/"},
		{".", "link/deep/a.comp", "link/../common"},
		{"k/deep", "a.comp", "../../common"},
		{"common", "../k/deep/a.comp", "."},
		{"common", "../k/deep/a.comp", ""},
	} {
		t.Chdir(filepath.Join(folder, place.from))
		if s := readFile(t, place.file, place.include); s.Key() != want.Key() || s.Files()[0] != place.file {
			t.Errorf("in %s, %s: files %q, text\n%s", place.from, place.file, s.Files(), s.Text())
		}
	}
}

// TestFilesAreNamedAsTyped compares the names in messages.
func TestFilesAreNamedAsTyped(t *testing.T) {
	folder := write(t, files("k/a.comp", "#include \"sub/b.glsl\"\n#include \"c.glsl\"\n", "k/sub/b.glsl", "#include \"../b.glsl\"\n", "k/b.glsl", "", "common/c.glsl", ""))
	t.Chdir(filepath.Join(folder, "common"))
	for file, want := range map[string]string{
		"../k/a.comp":           "../k/a.comp ../k/sub/b.glsl ../k/b.glsl ./c.glsl",
		folder + "/k/a.comp":    strings.ReplaceAll("F/k/a.comp F/k/sub/b.glsl F/k/b.glsl ./c.glsl", "F", folder),
		"../common/../k/a.comp": "../k/a.comp ../k/sub/b.glsl ../k/b.glsl ./c.glsl",
	} {
		if got := strings.Join(readFile(t, file, ".").Files(), " "); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
	_, err := ReadFile("../k/a.comp", FileOptions{})
	if err == nil || err.Error() != `shader: read source: ../k/a.comp:2: #include "c.glsl": file does not exist` {
		t.Error(err)
	}
}

// TestIncludesThatCannotBeRead compares errors: they are the driver's in a branch, and
// ours elsewhere.
func TestIncludesThatCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"missing":       {`"no.glsl"`, `#include "no.glsl": file does not exist`},
		"folder":        {`"folder.glsl"`, `folder.glsl is not a regular file`},
		"no operand":    {``, `#include : write a name`},
		"one quote":     {`"`, `write a name`},
		"empty":         {`""`, `write a name`},
		"slash":         {`"/"`, `write a name`},
		"no end":        {`<a"`, `write a name`},
		"two":           {`"a" "b"`, `write a name`},
		"macro":         {`NAME`, `write a name`},
		"not in quotes": {`<value.glsl>`, `file does not exist`},
		"itself":        {`"a.comp"`, `#include cycle`},
	} {
		t.Run(name, func(t *testing.T) {
			folder := write(t, files("value.glsl", "", "folder.glsl/x", "",
				"a.comp", "#include "+test.text+"\n",
				"guarded.glsl", "#ifndef G\n#define G\n#include "+strings.Replace(test.text, "a.comp", "guarded.comp", 1)+"\n#endif\n",
				"guarded.comp", "#include \"guarded.glsl\"\n",
				"branch.comp", "#version 430\n#ifdef X\n#include "+strings.Replace(test.text, "a.comp", "branch.comp", 1)+" \\\n /* \n*/\n#endif\n"))
			for _, file := range []string{"a.comp", "guarded.comp"} {
				_, err := ReadFile(filepath.Join(folder, file), FileOptions{})
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: got %v, want %q", file, err, test.want)
				}
			}
			s := readFile(t, filepath.Join(folder, "branch.comp"))
			want := "#version 430\n#ifdef X\n#error cannot include " + strings.Replace(test.text, "a.comp", "branch.comp", 1) + "\n /*\n*/\n#endif\n"
			if s.Text() != want {
				t.Errorf("got %q, want %q", s.Text(), want)
			}
		})
	}
}

// TestLinesAfterInclude compares the line numbers that a driver counts with the
// user's.
func TestLinesAfterInclude(t *testing.T) {
	fsys := files("a.comp", "#version 430\n/*\n*/ #include \"b.glsl\" /* x\n*/ int a4;\n#if X\n#include \"no\" \\\n // y\nint a8;\n#include \"once.glsl\"\n#else\nint a11;\n#endif\n#include \"once.glsl\"\n#include \"b.glsl\"\nint a15;\n",
		"b.glsl", "#ifndef B\n#define B\nint b3;\n#endif",
		"once.glsl", "#pragma once\nint c2; // \\")
	s, err := ReadSource(fsys, "a.comp", nil)
	must(t, err)
	for file, lines := range sourceLines(s.Text()) {
		for number, line := range lines {
			if i := strings.Index(line, "int "); i >= 0 && !strings.HasPrefix(line[i+5:], strconv.Itoa(number)+";") {
				t.Errorf("line %d of file %d is %q", number, file, line)
			}
		}
	}
	if n := strings.Count(s.Text(), "int b3"); n != 1 {
		t.Errorf("the guarded file was inserted %d times:\n%s", n, s.Text())
	}
	if n := strings.Count(s.Text(), "SHADERCACHE_ONCE_2\n"); n != 4 {
		t.Errorf("the guards are in %d lines:\n%s", n, s.Text())
	}
}

// TestComposedSources compares sources with a version and a prefix with the text that
// an application puts together.
func TestComposedSources(t *testing.T) {
	folder := write(t, files("plain.comp", "void main() {}", "own.comp", "#version 430\nvoid main() {}\n", "include.comp", "#include \"plain.comp\"\n"))
	const prefix = "#define FORMAT rgba16f\nprecision highp float;"
	for _, test := range []struct {
		file string
		FileOptions
		composed string
	}{
		{"plain.comp", FileOptions{Version: "310 es", Prefix: prefix}, "#version 310 es\n" + prefix + "\nvoid main() {}"},
		{"plain.comp", FileOptions{Version: "310 es", Prefix: prefix, Defines: Defines{"A": "1"}}, "#version 310 es\n" + prefix + "\nvoid main() {}"},
		{"plain.comp", FileOptions{Prefix: prefix + "\n"}, prefix + "\nvoid main() {}"},
		{"plain.comp", FileOptions{Version: "430"}, "#version 430\nvoid main() {}"},
		{"own.comp", FileOptions{Version: "310 es"}, "#version 310 es\n\nvoid main() {}\n"},
		{"own.comp", FileOptions{Prefix: prefix}, "#version 430\n" + prefix + "\n\nvoid main() {}\n"},
		{"include.comp", FileOptions{Version: "430", Prefix: "#define A"}, "#version 430\n#define A\n#line 1 1\nvoid main() {}\n#line 4 0\n"},
	} {
		s, err := ReadFile(filepath.Join(folder, test.file), test.FileOptions)
		must(t, err)
		if want := MustSource("", test.composed, test.Defines); s.Key() != want.Key() {
			t.Errorf("%+v: got %q, want %q", test, s.Text(), want.Text())
		}
		if want := filepath.Join(folder, test.file) + " (with its prefix)"; s.Files()[0] != want {
			t.Errorf("the file is %q, want %q", s.Files()[0], want)
		}
	}
	if _, err := ReadFile(filepath.Join(folder, "plain.comp"), FileOptions{Version: "430\nvoid"}); err == nil {
		t.Error("a version of two lines is accepted")
	}
}

// TestShippedFilesAreFoundLast reads includes of a file system beside the disk.
func TestShippedFilesAreFoundLast(t *testing.T) {
	shipped := files("part.glsl", "#include \"deep.glsl\"\n#include \"own.glsl\"\n", "deep.glsl", "shipped\n", "own.glsl", "shipped\n")
	folder := write(t, files("a.comp", "#include \"kernels/part.glsl\"\n#include <part.glsl>\n#include \"own.glsl\"\n", "own.glsl", "mine\n"))
	s, err := ReadFile(filepath.Join(folder, "a.comp"), FileOptions{Shipped: shipped})
	must(t, err)
	if strings.Count(s.Text(), "shipped") != 4 || strings.Count(s.Text(), "mine") != 1 {
		t.Error(s.Text())
	}
	if _, err := ReadFile(filepath.Join(folder, "part.glsl"), FileOptions{Shipped: shipped}); err == nil {
		t.Error("a source is read from the shipped files")
	}
}

func TestGuards(t *testing.T) {
	for text, want := range map[string]string{
		"#ifndef A\n#define A\n#endif":                                 "A",
		"// x\n\n#pragma once\n#ifndef A // y\n#define A 1\nx\n#endif": "A+once",
		"#if !defined(A)\n#define A\n#if 1\n#else\n#endif\n#endif\n\n": "A",
		"#if ! defined A\n#define A\n#endif\n":                         "A",
		"#pragma once\n":                                               "+once",
		"#ifdef X\n#pragma once\n#endif\n":                             "",
		"x\n#ifndef A\n#define A\n#endif":                              "",
		"#ifndef A\n#define A\n#endif\nx":                              "",
		"#ifndef A\n#define A\n#else\n#endif":                          "",
		"#ifndef A\n#define A\n#elif X\n#endif":                        "",
		"#ifndef A\n#define AB\n#endif":                                "",
		"#ifndef A\n#undef A\n#endif":                                  "",
		"#ifndef A\n#define A\n":                                       "",
		"#ifdef A\n#define A\n#endif":                                  "",
		"#ifndef GL_ES\n#define GL_ES\n#endif":                         "",
		"#ifndef A\n#define A\n#endif\n#endif":                         "",
		"#if !defined(A) && X\n#define A\n#endif":                      "",
	} {
		guard, once := includeGuard(text)
		if once {
			guard += "+once"
		}
		if guard != want {
			t.Errorf("%q: got %q, want %q", text, guard, want)
		}
	}
}
