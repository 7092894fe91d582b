package shader

import "strings"

// glslScanner goes through GLSL text by logical lines: a line that ends in a
// backslash continues on the next. It knows just enough of the language to
// tell code from comment; GLSL has no string literals that could hide one.
type glslScanner struct {
	rest      string // not read yet
	inComment bool   // a /* is open

	raw     string // the logical line, with all its line ends
	code    string // raw without comments (each becomes a blank), continuations and line ends
	comment string // raw without code: comments, and every line end, so that lines still count
	line    int    // number of its first physical line, from 1

	lastLine int // number of its last physical line
}

// next reads one logical line. It reports false at the end of the text.
func (s *glslScanner) next() bool {
	if s.rest == "" {
		return false
	}
	s.line = s.lastLine + 1
	end := logicalLineEnd(s.rest)
	s.raw, s.rest = s.rest[:end], s.rest[end:]
	s.lastLine += strings.Count(s.raw, "\n")
	if s.rest == "" && !strings.HasSuffix(s.raw, "\n") {
		s.lastLine++
	}
	s.split()
	return true
}

// logicalLineEnd is the length of the first logical line of text.
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

// split divides raw into code and comment.
func (s *glslScanner) split() {
	var code, comment strings.Builder
	lineComment := false
	for raw := s.raw; raw != ""; {
		n := 1
		switch {
		case s.inComment && strings.HasPrefix(raw, "*/"):
			s.inComment, n = false, 2
			comment.WriteString(raw[:n])
		case s.inComment || lineComment:
			comment.WriteByte(raw[0])
		case strings.HasPrefix(raw, "/*"), strings.HasPrefix(raw, "//"):
			s.inComment, lineComment, n = raw[1] == '*', raw[1] == '/', 2
			comment.WriteString(raw[:n])
			code.WriteByte(' ')
		case strings.HasPrefix(raw, "\\\n"):
			n = 2
			comment.WriteByte('\n')
		case raw[0] == '\n':
			comment.WriteByte('\n')
		default:
			code.WriteByte(raw[0])
		}
		raw = raw[n:]
	}
	s.code, s.comment = code.String(), comment.String()
}
