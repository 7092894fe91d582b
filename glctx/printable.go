package glctx

import (
	"strconv"
	"strings"
)

// printable returns text as it may be written to a terminal, and to JSON without loss:
// bytes that are not UTF-8, and characters that cannot be printed, become escapes of Go,
// and a backslash becomes two. Two texts that differ remain different, so that they can
// identify a driver. The text of a sane driver stays as it is.
func printable(text string) string {
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
