package shader

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestSourceText(t *testing.T) {
	one := Defines{"A": "1"}
	tests := []struct {
		name    string
		text    string
		defines Defines
		want    string
	}{
		{"empty", "", nil, "#version 450 core\n#line 1 0\n"},
		{"no version", "void main() {}\n", nil, "#version 450 core\n#line 1 0\nvoid main() {}\n"},
		{"version first", "#version 430\nvoid main() {}\n", one, "#version 430\n#define A 1\n#line 1 0\n\nvoid main() {}\n"},
		{"version is all", "#version 430", one, "#version 430\n#define A 1\n#line 1 0\n"},
		{"version with blanks", "  # \t version   310   es \t\nx\n", one, "#version 310   es\n#define A 1\n#line 1 0\n\nx\n"},
		{"version after line comment", "// licence\n\n#version 430 core\nx\n", one, "#version 430 core\n#define A 1\n#line 1 0\n// licence\n\n\nx\n"},
		{"version after block comment", "/* a\n b */\n#version 430\nx\n", one, "#version 430\n#define A 1\n#line 1 0\n/* a\n b */\n\nx\n"},
		{"version on the line where a comment ends", "/* a\n b */ #version 430\nx\n", one, "#version 430\n#define A 1\n#line 1 0\n/* a\n b */\nx\n"},
		{"version behind a comment", "/**/#version 430\nx\n", one, "#version 430\n#define A 1\n#line 1 0\n/**/\nx\n"},
		{"version before a comment", "#version 430 // why\nx\n", one, "#version 430\n#define A 1\n#line 1 0\n// why\nx\n"},
		{"version before a comment that continues", "#version 430 /* a\n b */\nx\n", one, "#version 430\n#define A 1\n#line 1 0\n/* a\n b */\nx\n"},
		{"version over two lines", "#version \\\n430\nx\n", nil, "#version 430\n#line 1 0\n\n\nx\n"},
		{"version in a comment", "// #version 110\n/* #version 120\n#version 130\n*/\nx\n", nil,
			"#version 450 core\n#line 1 0\n// #version 110\n/* #version 120\n#version 130\n*/\nx\n"},
		{"version in a continued line comment", "// a \\\n#version 110\nx\n", nil, "#version 450 core\n#line 1 0\n// a \\\n#version 110\nx\n"},
		{"version too late", "int a;\n#version 430\n", nil, "#version 450 core\n#line 1 0\nint a;\n#version 430\n"},
		{"not a version", "#versions 430\n", nil, "#version 450 core\n#line 1 0\n#versions 430\n"},
		{"slash is code", "a / b\n#version 430\n", nil, "#version 450 core\n#line 1 0\na / b\n#version 430\n"},
		{"slash at the end", "/\n#version 430\n", nil, "#version 450 core\n#line 1 0\n/\n#version 430\n"},
		{"star slash slash", "/**//**/ // a /* b\n#version 430\n", one, "#version 430\n#define A 1\n#line 1 0\n/**//**/ // a /* b\n\n"},
		{"slash star slash is open", "/*/\n#version 430\n*/x\n", nil, "#version 450 core\n#line 1 0\n/*/\n#version 430\n*/x\n"},
		{"extension stays", "#version 430\n#extension GL_KHR_shader_subgroup_basic : enable\n", one,
			"#version 430\n#define A 1\n#line 1 0\n\n#extension GL_KHR_shader_subgroup_basic : enable\n"},
		{"windows lines", "#version 430\r\nint a;\r\n", one, "#version 430\n#define A 1\n#line 1 0\n\nint a;\n"},
		{"old mac lines", "#version 430\rint a;\r", nil, "#version 430\n#line 1 0\n\nint a;\n"},
		{"byte order mark", "\uFEFF#version 430\nx\n", one, "#version 430\n#define A 1\n#line 1 0\n\nx\n"},
		{"defines are sorted", "x\n", Defines{"TILE_N": "8", "A": "1", "TILE_M": "16"},
			"#version 450 core\n#define A 1\n#define TILE_M 16\n#define TILE_N 8\n#line 1 0\nx\n"},
		{"define forms", "x\n", Defines{"EMPTY": "", "ACT(x, y)": "max(x, y)", "F()": "1.0"},
			"#version 450 core\n#define ACT(x, y) max(x, y)\n#define EMPTY \n#define F() 1.0\n#line 1 0\nx\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := NewSource("name", test.text, test.defines)
			must(t, err)
			if s.Text() != test.want {
				t.Errorf("got\n%q\nwant\n%q", s.Text(), test.want)
			}
		})
	}
}

// TestSourceTextIsUsedAsItIs checks that a text with a #version of its own gets no line
// more: drivers cache by the text that other programs give them.
func TestSourceTextIsUsedAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		"#version 430\nx\n":                     "#version 430\nx\n",
		"#version 430":                          "#version 430",
		"\n  # version 310 es // why\r\nx\r\n":  "\n  # version 310 es // why\r\nx\r\n",
		"/* a\n b */\n#version 430 /* b\n*/ x":  "/* a\n b */\n#version 430 /* b\n*/ x",
		"\uFEFF#version 430\nx\n":               "#version 430\nx\n",
		"#version 430\n#line 7 2\nx\n":          "#version 430\n#line 7 2\nx\n",
		"#version 430\n// \xe9\n":               "#version 430\n// \xe9\n",
		"#line 1 1\n#version 430\n#line 2 0\nx": "#version 430\n#line 1 0\n#line 1 1\n\n#line 2 0\nx",
		"#version \\\n430\nx":                   "#version 430\n#line 1 0\n\n\nx",
		"#version 430\rx\r":                     "#version 430\n#line 1 0\n\nx\n",
	} {
		if got := MustSource("name", text, nil).Text(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestSourceKeepsLineNumbers(t *testing.T) {
	for _, text := range []string{
		"#version 430\nint line2;\n",
		"/* a\n*/ #version 430 /* b\n*/ int line3;\n",
		"// a\n\n# version 430 // c\nint line4;\n",
		"#version \\\n 430 \\\n core\nint line4;\n",
		"int line1;\n",
	} {
		for _, defines := range []Defines{{"A": "1", "B": "2"}, nil} {
			found := false
			for number, line := range sourceLines(MustSource("name", text, defines).Text())[0] {
				i := strings.Index(line, "line")
				found = found || i >= 0
				if i >= 0 && int(line[i+4]-'0') != number {
					t.Errorf("%q: line %d is %q", text, number, line)
				}
			}
			if !found {
				t.Errorf("%q: the line is not found", text)
			}
		}
	}
}

func TestSourceRefuses(t *testing.T) {
	tests := []struct {
		text        string
		name, value string
		want        string
	}{
		{"a\x00b", "A", "1", "NUL"},
		{"", "", "1", `"" is not a name`},
		{"", "1A", "1", "not a name"},
		{"", "A B", "1", "not a name"},
		{"", "A-B", "1", "not a name"},
		{"", "A(", "1", "not a name"},
		{"", "A(x)y", "1", "not a name"},
		{"", "A\n", "1", "not a name"},
		{"", "Ä", "1", "not a name"},
		{"", "GL_core_profile", "1", "not a name"},
		{"", "defined", "1", "not a name"},
		{"", "A", "1\n#define B", "one line"},
		{"", "A", "1\r", "one line"},
		{"", "A", "1\\", "one line"},
		{"", "A", "\x00", "one line"},
		{"", "A", "1 /* open", "comment"},
		{"", "A", "1 // rest", "comment"},
	}
	for _, test := range tests {
		_, err := NewSource("conv", test.text, Defines{test.name: test.value})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `"conv"`) {
			t.Errorf("text %q, define %q %q: got %v, want an error about %q", test.text, test.name, test.value, err, test.want)
		}
	}
}

func TestMustSourcePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	MustSource("name", "", Defines{"1": ""})
}

func TestKeys(t *testing.T) {
	base := MustSource("conv", "void main() {}\n", Defines{"A": "1"})
	same := map[string]*Source{
		"other name":      MustSource("gemm", "void main() {}\n", Defines{"A": "1"}),
		"WithName":        base.WithName("gemm"),
		"windows lines":   MustSource("conv", "void main() {}\r\n", Defines{"A": "1"}),
		"default version": MustSource("conv", "void main() {}\n", Defines{"A": "1"}),
	}
	for name, s := range same {
		if s.Key() != base.Key() {
			t.Errorf("%s: another key", name)
		}
	}
	other := map[string]*Source{
		"edited":         MustSource("conv", "void main() { }\n", Defines{"A": "1"}),
		"other value":    MustSource("conv", "void main() {}\n", Defines{"A": "2"}),
		"other define":   MustSource("conv", "void main() {}\n", Defines{"B": "1"}),
		"no define":      MustSource("conv", "void main() {}\n", nil),
		"other version":  MustSource("conv", "#version 460\nvoid main() {}\n", Defines{"A": "1"}),
		"define in text": MustSource("conv", "#define A 1\nvoid main() {}\n", nil),
	}
	seen := map[Key]string{base.Key(): "base"}
	for name, s := range other {
		if clash, ok := seen[s.Key()]; ok {
			t.Errorf("%s has the key of %s", name, clash)
		}
		seen[s.Key()] = name
	}
}

func TestWithName(t *testing.T) {
	s := MustSource("conv", "x\n", nil)
	if named := s.WithName("gemm"); named.Name() != "gemm" || s.Name() != "conv" || named.Files()[0] != "conv" {
		t.Errorf("names %q and %q, files %q", named.Name(), s.Name(), named.Files())
	}
}

func TestKeyText(t *testing.T) {
	key := MustSource("", "// program", nil).Key()
	parsed, err := ParseKey(key.String())
	if err != nil || parsed != key {
		t.Errorf("got %v, %v", parsed, err)
	}
	if len(key.Short()) != 12 || !strings.HasPrefix(key.String(), key.Short()) {
		t.Errorf("short form %q of %q", key.Short(), key)
	}
	for _, bad := range []string{"", "12", strings.Repeat("g", 64), key.String() + "0", key.String()[:63]} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("ParseKey(%q): no error", bad)
		}
	}
}

func TestWithCheck(t *testing.T) {
	wrong := errors.New("wrong answer")
	s := MustSource("conv", "x\n", nil)
	checked := s.WithCheck(func(context.Context, uint32) error { return wrong })
	if s.Check() != nil || checked.Check()(t.Context(), 1) != wrong || checked.Key() != s.Key() {
		t.Errorf("the check is missing, changes the source it was added to, or changes the key")
	}
}

func TestKeyJSON(t *testing.T) {
	key := MustSource("", "// program", nil).Key()
	text, err := key.MarshalText()
	must(t, err)
	if string(text) != key.String() {
		t.Errorf("got %s, want %s", text, key)
	}
}
