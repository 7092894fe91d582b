package lint

import (
	"strconv"
	"strings"
)

// position is a place in the text.
type position struct {
	source       int // source string number, as #line sets it
	line, column int
}

type tokenKind uint8

const (
	mark      tokenKind = iota // an operator or a bracket
	word                       // an identifier or a keyword
	number                     // a literal
	directive                  // a preprocessor line: text is its name, rest what follows
)

type token struct {
	kind tokenKind
	text string
	rest []token
	at   position
	// tight says that nothing stands between this token and the one before: it
	// tells the macro F(x) from the macro F whose text is (x).
	tight bool
}

// scanner takes text apart. It knows no errors: a byte that means nothing is a
// mark of its own.
type scanner struct {
	text    string
	offset  int
	at      position
	tokens  []token
	markers []marker
}

// scan takes GLSL apart into tokens and directives.
func scan(text string) *scanner {
	s := &scanner{text: text, at: position{line: 1, column: 1}}
	for s.blank(true); s.offset < len(s.text); s.blank(true) {
		if s.text[s.offset] == '#' {
			s.directive()
			continue
		}
		s.tokens = append(s.tokens, s.next())
	}
	return s
}

// advance goes n bytes on.
func (s *scanner) advance(n int) {
	for _, b := range []byte(s.text[s.offset : s.offset+n]) {
		s.at.column++
		if b == '\n' {
			s.at.line++
			s.at.column = 1
		}
	}
	s.offset += n
}

// blank skips white space and comments, and the ends of lines where lines is set.
func (s *scanner) blank(lines bool) {
	for s.offset < len(s.text) {
		rest := s.text[s.offset:]
		switch {
		case strings.HasPrefix(rest, "\\\n"):
			s.advance(2)
		case strings.HasPrefix(rest, "\\\r\n"):
			s.advance(3)
		case strings.HasPrefix(rest, "//"):
			s.comment(lineLength(rest), 2, 0)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				s.advance(len(rest))
				return
			}
			s.comment(n+4, 2, 2)
		case rest[0] == '\n' && !lines:
			return
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			s.advance(1)
		default:
			return
		}
	}
}

// lineLength is how far it is to the end of the line.
func lineLength(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// comment skips n bytes of comment, whose text lies between two marks.
func (s *scanner) comment(n, before, after int) {
	if m, ok := markerIn(s.text[s.offset+before:s.offset+n-after], s.at); ok {
		s.markers = append(s.markers, m)
	}
	s.advance(n)
}

// directive reads a preprocessor line.
func (s *scanner) directive() {
	d := token{kind: directive, at: s.at}
	s.advance(1)
	for s.blank(false); s.offset < len(s.text) && s.text[s.offset] != '\n'; s.blank(false) {
		d.rest = append(d.rest, s.next())
	}
	if len(d.rest) == 0 {
		return
	}
	d.text, d.rest = d.rest[0].text, d.rest[1:]
	if d.text == "line" {
		s.renumber(d.rest)
		return
	}
	s.tokens = append(s.tokens, d)
}

// renumber obeys #line: the next line has that number.
func (s *scanner) renumber(rest []token) {
	values := []int{s.at.line, s.at.source}
	for i := 0; i < len(rest) && i < len(values); i++ {
		n, err := strconv.Atoi(rest[i].text)
		if err != nil || n < 0 {
			return
		}
		values[i] = n
	}
	if len(rest) > 0 {
		// The end of this line still counts.
		s.at.line, s.at.source = values[0]-1, values[1]
	}
}

// operators of more than one byte, the longest first.
var operators = []string{"<<=", ">>=", "++", "--", "<=", ">=", "==", "!=", "&&", "||", "^^", "<<", ">>",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"}

// next reads a token; there is one.
func (s *scanner) next() token {
	rest := s.text[s.offset:]
	t := token{at: s.at, tight: s.offset > 0 && strings.IndexByte(" \t", s.text[s.offset-1]) < 0}
	n := 1
	switch {
	case isLetter(rest[0]):
		t.kind, n = word, span(rest)
	case isDigit(rest[0]) || rest[0] == '.' && len(rest) > 1 && isDigit(rest[1]):
		t.kind, n = number, numberSpan(rest)
	default:
		for _, o := range operators {
			if strings.HasPrefix(rest, o) {
				n = len(o)
				break
			}
		}
	}
	t.text = rest[:n]
	s.advance(n)
	return t
}

func isLetter(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// span is the length of the word that text begins with.
func span(text string) int {
	n := 0
	for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
		n++
	}
	return n
}

// numberSpan is the length of the number that text begins with: digits, a dot,
// suffixes, and an exponent with its sign.
func numberSpan(text string) int {
	n := 0
	for n < len(text) {
		b := text[n]
		exponent := n > 0 && (b == '+' || b == '-') && (text[n-1] == 'e' || text[n-1] == 'E') &&
			!strings.HasPrefix(text, "0x") && !strings.HasPrefix(text, "0X")
		if !isLetter(b) && !isDigit(b) && b != '.' && !exponent {
			break
		}
		n++
	}
	return n
}
