package cli

import (
	"fmt"
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
