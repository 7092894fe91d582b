package shader

import (
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Position is a place in GLSL text, as #line directives number it.
type Position struct {
	File   int // source string number: index into [Source.Files]
	Line   int // from 1
	Column int // from 1, in bytes
}

// Comment is a comment of GLSL text.
type Comment struct {
	Position        // of its first byte
	Text     string // without /* */ or //
}

// Scanner splits GLSL text into logical lines, and each of them into code and
// comments. A line that ends in a backslash continues on the next one. GLSL has
// no string literals that could contain a comment, so the Scanner needs no more of
// the language than that.
//
// A line ends at its line end also inside a /* comment, so that [ReadSource] can
// copy lines unchanged. InComment then reports true, and the next line begins in
// the comment.
type Scanner struct {
	text      string
	begin     int // the logical line is text[begin:end]
	end       int
	inComment bool // a /* comment is open

	code     string // without comments (each is one blank), continuations and line end
	rest     string // the remainder: comments, and every line end, so that line numbers hold
	runs     []run
	comments []Comment
	opened   int      // where the open comment starts in text
	openedAt Position // the same as a position

	first, last int      // physical lines of the logical line, from 1
	at          Position // of its first byte
	next        Position // of the line after it
}

// run is a part of code that lies in one piece in the text.
type run struct {
	code int // index of its first byte
	at   Position
}

// NewScanner returns a Scanner at the beginning of text. A byte order mark is
// dropped, and lines may end in CR LF or CR, as in [NewSource].
func NewScanner(text string) *Scanner { return newScanner(normalize(text), 0) }

// newScanner scans text that is normalized, the beginning of a file.
func newScanner(text string, file int) *Scanner {
	return &Scanner{text: text, next: Position{file, 1, 1}}
}

// Next reads the next logical line. It reports false at the end of the text.
func (s *Scanner) Next() bool {
	if s.end == len(s.text) {
		return false
	}
	s.begin, s.first, s.at = s.end, s.last+1, s.next
	s.end += logicalLineEnd(s.text[s.begin:])
	s.next = s.split()
	s.last = s.first + s.next.Line - s.at.Line - 1
	if !strings.HasSuffix(s.raw(), "\n") {
		s.last++
	}
	if line, file, ok := s.lineDirective(); ok {
		s.next = Position{file, line, 1}
	}
	return true
}

// Code returns the code of the line: each comment is replaced by a blank, and
// continuations and the line end are removed.
func (s *Scanner) Code() string { return s.code }

// Comments returns the comments that end in the line.
func (s *Scanner) Comments() []Comment { return s.comments }

// InComment reports whether the line ends inside a /* comment.
func (s *Scanner) InComment() bool { return s.inComment }

// Position returns where byte i of Code stands in the text.
func (s *Scanner) Position(i int) Position {
	r := s.runs[sort.Search(len(s.runs), func(k int) bool { return s.runs[k].code > i })-1]
	r.at.Column += i - r.code
	return r.at
}

// raw returns the logical line with all its line ends.
func (s *Scanner) raw() string { return s.text[s.begin:s.end] }

// logicalLineEnd returns the length of the first logical line of text.
func logicalLineEnd(text string) int {
	end := 0
	for {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			return len(text)
		}
		end += i + 1
		if i == 0 || text[end-2] != '\\' {
			return end
		}
	}
}

// split divides the logical line into code and rest, and returns the position after it.
func (s *Scanner) split() Position {
	var code, rest strings.Builder
	s.runs, s.comments = s.runs[:0], nil
	at := s.at
	for i, n := s.begin, 0; i < s.end; i += n {
		text := s.text[i:s.end]
		switch length := codeLength(text); {
		case s.inComment:
			if n = strings.Index(text, "*/"); n >= 0 {
				s.inComment = false
				s.comments = append(s.comments, Comment{s.openedAt, s.text[s.opened+2 : i+n]})
				n += len("*/")
			} else {
				n = len(text)
			}
			rest.WriteString(text[:n])
		case length > 0:
			n = length
			s.runs = append(s.runs, run{code.Len(), at})
			code.WriteString(text[:n])
		case strings.HasPrefix(text, "//"):
			n = len(text)
			s.comments = append(s.comments, Comment{at, strings.TrimSuffix(text[2:], "\n")})
			s.runs = append(s.runs, run{code.Len(), at})
			code.WriteByte(' ')
			rest.WriteString(text)
		case strings.HasPrefix(text, "/*"):
			n = len("/*")
			s.inComment, s.opened, s.openedAt = true, i, at
			s.runs = append(s.runs, run{code.Len(), at})
			code.WriteByte(' ')
			rest.WriteString(text[:n])
		default: // a line end, after a backslash or not
			n = strings.IndexByte(text, '\n') + 1
			rest.WriteByte('\n')
		}
		at = at.after(text[:n])
	}
	s.code, s.rest = code.String(), rest.String()
	return at
}

// codeLength returns the length of the code that text begins with, up to a comment, a
// continuation or a line end.
func codeLength(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '\n':
			return i
		case '/', '\\':
			if i+1 < len(text) && (text[i:i+2] == "//" || text[i:i+2] == "/*" || text[i:i+2] == "\\\n") {
				return i
			}
		}
	}
	return len(text)
}

// after returns the position after text, which begins at p.
func (p Position) after(text string) Position {
	if lines := strings.Count(text, "\n"); lines > 0 {
		return Position{p.File, p.Line + lines, len(text) - strings.LastIndexByte(text, '\n')}
	}
	p.Column += len(text)
	return p
}

var directive = regexp.MustCompile(`^\s*#\s*(\w+)\s*(.*?)\s*$`)

// directive returns the name and the operands of a preprocessor directive, and ""
// for other lines.
func (s *Scanner) directive() (name, operands string) {
	if strings.IndexByte(s.code, '#') < 0 {
		return "", ""
	}
	m := directive.FindStringSubmatch(s.code)
	if m == nil {
		return "", ""
	}
	return m[1], m[2]
}

// lineDirective reads a #line directive with a line number and, maybe, a source
// string number. Others are left to the driver.
func (s *Scanner) lineDirective() (line, file int, ok bool) {
	name, operands := s.directive()
	fields := strings.Fields(operands)
	if name != "line" || len(fields) < 1 || len(fields) > 2 {
		return 0, 0, false
	}
	numbers := []int{0, s.at.File}
	for i, field := range fields {
		n, err := strconv.ParseUint(field, 10, 31)
		if err != nil {
			return 0, 0, false
		}
		numbers[i] = int(n)
	}
	return numbers[0], numbers[1], true
}
