package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EscapeName escapes a name for a table. Names come from files, also from imported ones,
// and must not break a line or control a terminal.
func EscapeName(name string) string { return escaped(name, "") }

// EscapeText escapes a message of several lines, which may quote names.
func EscapeText(text string) string { return escaped(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t") }

// escapeMessage escapes a message, whose further lines are indented: a name with a line
// feed cannot look like a line of ours.
func escapeMessage(text string) string {
	return strings.ReplaceAll(EscapeText(strings.TrimRight(text, "\n")), "\n", "\n  ")
}

// escaped writes runes that cannot be printed, but for those in except, as Go strings
// have them.
func escaped(text, except string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsPrint(r) || strings.ContainsRune(except, r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

// escapingWriter writes text with what could control a terminal escaped. Its callers
// write whole runes.
type escapingWriter struct{ io.Writer }

func (w escapingWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, escaped(string(text), "\n\t")); err != nil {
		return 0, err
	}
	return len(text), nil
}
