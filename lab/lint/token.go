package lint

import (
	"strings"

	"github.com/shadercache/shadercache/shader"
)

type tokenKind uint8

const (
	mark      tokenKind = iota // an operator or a bracket
	word                       // an identifier or a keyword
	number                     // a literal
	directive                  // a preprocessor line: text is its name, rest the tokens after it
)

type token struct {
	kind tokenKind
	text string
	rest []token
	at   shader.Position
	// tight is set where no blank or comment precedes the token: it separates the
	// macro F(x) from the macro F whose text is (x).
	tight bool
}

// tokenize returns the tokens, directives and markers of GLSL text.
func tokenize(text string) (tokens []token, markers []marker) {
	s := shader.NewScanner(text)
	var open *token // a directive that a comment continues on the next line
	for s.Next() {
		line := lineTokens(s)
		switch {
		case open != nil:
			open.rest = append(open.rest, line...)
		case len(line) > 0 && line[0].text == "#":
			if len(line) > 1 {
				tokens = append(tokens, token{kind: directive, at: line[0].at, text: line[1].text, rest: line[2:]})
				open = &tokens[len(tokens)-1]
			}
		default:
			tokens = append(tokens, line...)
		}
		if !s.InComment() {
			open = nil
		}
		for _, c := range s.Comments() {
			if m, ok := markerIn(c); ok {
				markers = append(markers, m)
			}
		}
	}
	return tokens, markers
}

const blanks = " \t\r\n\f\v"

// lineTokens returns the tokens of one logical line. There are no errors: a byte
// that starts no other token is a mark.
func lineTokens(s *shader.Scanner) []token {
	var tokens []token
	code := s.Code()
	for i := 0; i < len(code); {
		if strings.IndexByte(blanks, code[i]) >= 0 {
			i++
			continue
		}
		t := firstToken(code[i:])
		t.at = s.Position(i)
		t.tight = i > 0 && strings.IndexByte(blanks, code[i-1]) < 0
		tokens = append(tokens, t)
		i += len(t.text)
	}
	return tokens
}

// operators of more than one byte, the longest first.
var operators = []string{"<<=", ">>=", "++", "--", "<=", ">=", "==", "!=", "&&", "||", "^^", "<<", ">>",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"}

// firstToken returns the token that text, which does not begin with a blank,
// begins with.
func firstToken(text string) token {
	switch {
	case isLetter(text[0]):
		return token{kind: word, text: text[:wordLength(text)]}
	case isDigit(text[0]) || text[0] == '.' && len(text) > 1 && isDigit(text[1]):
		return token{kind: number, text: text[:numberLength(text)]}
	}
	for _, o := range operators {
		if strings.HasPrefix(text, o) {
			return token{text: o}
		}
	}
	return token{text: text[:1]}
}

func isLetter(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// wordLength returns the length of the word that text begins with.
func wordLength(text string) int {
	n := 0
	for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
		n++
	}
	return n
}

// numberLength returns the length of the number that text begins with: digits, a
// dot, suffixes, and an exponent with its sign.
func numberLength(text string) int {
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
