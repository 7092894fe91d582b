package shader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestScannerSeparatesCodeAndComments(t *testing.T) {
	s := NewScanner("\uFEFFint a; // one\r\n/* two\n three */ b /**/ c\n\\\nd \\\n e\n#line 7 2\nf /* open\n")
	want := []struct {
		code     string
		comments []Comment
		open     bool
	}{
		{"int a;  ", []Comment{{Position{0, 1, 8}, " one"}}, false},
		{" ", nil, true},
		{" b   c", []Comment{{Position{0, 2, 1}, " two\n three "}, {Position{0, 3, 13}, ""}}, false},
		{"d  e", nil, false},
		{"#line 7 2", nil, false},
		{"f  ", nil, true},
	}
	for _, w := range want {
		if !s.Next() || s.Code() != w.code || !slices.Equal(s.Comments(), w.comments) || s.InComment() != w.open {
			t.Errorf("code %q, comments %v, in a comment: %t; want %+v", s.Code(), s.Comments(), s.InComment(), w)
		}
	}
	if s.Next() {
		t.Errorf("a line after the last one: %q", s.Code())
	}
}

func TestScannerPositions(t *testing.T) {
	s := NewScanner("a /* x\n y */ b /**/ c\n\\\nd\\\ne\n#line 7 2\nf\n#line 3\ng\n#line x\n#line 1 2 3\n#line -1\nh\n")
	var got []string
	for s.Next() {
		for i, c := range s.Code() {
			if 'a' <= c && c <= 'h' && !strings.Contains(s.Code(), "#") {
				at := s.Position(i)
				got = append(got, fmt.Sprintf("%c %d:%d:%d", c, at.File, at.Line, at.Column))
			}
		}
	}
	want := []string{"a 0:1:1", "b 0:2:7", "c 0:2:14", "d 0:4:1", "e 0:5:1", "f 2:7:1", "g 2:3:1", "h 2:7:1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzScanner compares each byte of code with the text at its position.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{"a\\\n/*b*/c//d\\\ne", "/*/\n*/ x", "#line 4 1\r\nx", "\\", "\\\n", "\n\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.SplitAfter(normalize(text), "\n")
		total := 0
		for s := NewScanner(text); s.Next(); {
			total += len(s.raw())
			if len(s.code)+len(s.rest) < len(s.raw()) && !strings.Contains(s.raw(), "\\\n") {
				t.Fatalf("%q lost text: code %q, rest %q", s.raw(), s.code, s.rest)
			}
			for i := range len(s.code) {
				at := s.Position(i)
				line := lines[s.first-1+at.Line-s.at.Line]
				if c := s.code[i]; c != ' ' && line[at.Column-1] != c {
					t.Fatalf("byte %q of %q is at %+v, where %q stands", c, s.code, at, line)
				}
			}
		}
		if total != len(normalize(text)) {
			t.Fatalf("%d bytes of %d were read", total, len(text))
		}
	})
}
