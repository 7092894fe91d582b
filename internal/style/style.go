// Package style is the look of the project's pages: colours for light and dark, type, tables
// and sums.
package style

import (
	_ "embed"
	"strings"
)

//go:embed style.css
var sheet string

// In returns a page with the style sheet in place of {{style}}.
func In(page string) string { return strings.Replace(page, "{{style}}", sheet, 1) }
