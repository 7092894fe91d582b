package shader

import (
	"strings"
	"testing"
)

func TestCompileErrorLine(t *testing.T) {
	source, err := ReadSource(files("a.comp", "#include \"b.glsl\"\n", "b.glsl", "x\n"), "a.comp", nil)
	must(t, err)
	tests := []struct {
		log    string
		source *Source
		want   string
	}{
		{"0:12(5): error: `y' undeclared\n", source, "a.comp:12: error: `y' undeclared"},
		{"1(12) : error C1008: undefined variable \"y\"\n", source, "b.glsl:12: error C1008: undefined variable \"y\""},
		{"ERROR: 1:3: 'y' : undeclared identifier\nERROR: 1 compilation errors.\n", source, "b.glsl:3: 'y' : undeclared identifier"},
		{"0:1(2): warning: unused\n0:12(5): error: bad\n", source, "a.comp:12: error: bad"},
		{"7(1) : error C0000: bad\n", source, "source 7:1: error C0000: bad"},
		{"0(1) : error C0000: bad\n", nil, "source 0:1: error C0000: bad"},
		{"\n  out of registers\nmore\n", source, "out of registers"},
		{"error: linking failed", source, "error: linking failed"},
		{"99999999999999999999(1) : error", source, "99999999999999999999(1) : error"},
		{"", source, ""},
	}
	for _, test := range tests {
		e := &CompileError{Name: "conv", Log: test.log, Source: test.source}
		want := `shader "conv" does not compile: ` + test.want
		if test.want == "" {
			want = `shader "conv" does not compile, and the driver gives no reason`
		}
		if e.Error() != want {
			t.Errorf("log %q: got %q, want %q", test.log, e.Error(), want)
		}
	}
}

func TestCompileErrorDetail(t *testing.T) {
	source, err := ReadSource(files(
		"k/a.comp", "// licence\n#version 430\n#include \"b.glsl\"\nint a4;\nint a5 = y;\nint a6;\n\nint a8;\nint a9;\nint a10;\nint a11;\nint a12 = z;\n",
		"k/b.glsl", "int b1;\nint b2 = y;\n"), "k/a.comp", Defines{"A": "1", "B": "2"})
	must(t, err)
	e := &CompileError{Name: "a", Source: source, Log: "\n0(5) : error C1008: undefined variable \"y\"\n" +
		"0(5) : error C1008: again\n0(12) : error C1008: undefined variable \"z\"\n1(2) : error C1008: undefined variable \"y\"\n0(99) : error: past the end\n\n"}
	want := `0(5) : error C1008: undefined variable "y"
0(5) : error C1008: again
0(12) : error C1008: undefined variable "z"
1(2) : error C1008: undefined variable "y"
0(99) : error: past the end

k/a.comp:
     3 | #include "b.glsl"
     4 | int a4;
>    5 | int a5 = y;
     6 | int a6;
     7 |
      ...
    10 | int a10;
    11 | int a11;
>   12 | int a12 = z;

k/b.glsl:
     1 | int b1;
>    2 | int b2 = y;
`
	want = strings.Replace(want, "     3 | #include \"b.glsl\"\n", "", 1) // replaced by what it includes
	if got := e.Detail(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCompileErrorDetailIsBounded(t *testing.T) {
	source := MustSource("long", strings.Repeat("x\n", 1000), nil)
	var log strings.Builder
	for i := range 100 {
		log.WriteString("0(" + strings.Repeat("1", 1+i%2) + "0) : error\n")
		log.WriteString("0(" + string(rune('1'+i%9)) + "00) : error\n")
	}
	detail := (&CompileError{Name: "long", Log: log.String(), Source: source}).Detail()
	if n := strings.Count(detail, "\n>"); n != shownLines {
		t.Errorf("%d lines are shown, want %d", n, shownLines)
	}
}

func TestCompileErrorWithoutSource(t *testing.T) {
	e := &CompileError{Name: "a", Log: "0(5) : error\n"}
	if got := e.Detail(); got != "0(5) : error\n" {
		t.Errorf("got %q", got)
	}
}

func TestCompileErrorFollowsTheUsersLineDirectives(t *testing.T) {
	source := MustSource("gen", "#line 100\nint x = y;\n", nil)
	e := &CompileError{Name: "gen", Log: "0:100(9): error: `y' undeclared", Source: source}
	if got := e.Detail(); !strings.Contains(got, ">  100 | int x = y;\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestCompileErrorBlamesSource(t *testing.T) {
	for log, want := range map[string]bool{
		"0:1(3): error: syntax error\n":               true,
		"0(4) : error C1503: undefined \"größe\"\r\n": true,
		"":                              false,
		" \n\t":                         false,
		"\x1b[2J\x07":                   false,
		"0:1: \xff\xfe":                 false,
		"Internal error: Out of memory": false,
	} {
		if got := (&CompileError{Log: log}).BlamesSource(); got != want {
			t.Errorf("%q: %v", log, got)
		}
	}
}
