// Package style is the look of the project's pages: colours for light and dark, type, tables
// and sums.
package style

import (
	_ "embed"
	"html/template"
)

//go:embed style.css
var sheet string

// Sheet returns the style sheet, for a style element.
func Sheet() template.CSS { return template.CSS(sheet) }
