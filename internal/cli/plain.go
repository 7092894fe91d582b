package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown is a name as a table has it: names come from files, also from other
// people's bundles, and must neither break a line nor steer a terminal.
func Shown(name string) string { return escaped(name, "") }

// Plain is a message of some lines, which may quote names.
func Plain(text string) string { return escaped(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t") }

// escaped writes what is not printed, and not among the runes kept, as Go does in
// a string.
func escaped(text, kept string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsPrint(r) || strings.ContainsRune(kept, r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}
