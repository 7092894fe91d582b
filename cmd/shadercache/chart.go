package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/google/renameio/v2"
)

// chart is lengths to compare: one bar for each, from zero, on one scale.
type chart struct {
	title string
	notes []string // where and when, below a picture
	bars  []bar
}

// bar is one line of a chart. text stands behind the bar and says how long it is.
type bar struct {
	name  string
	value float64 // not below 0
	text  string
}

// chartWidth is the longest bar, in characters.
const chartWidth = 48

// eighths are the last characters of bars, from an eighth to a whole one.
var eighths = []rune("▏▎▍▌▋▊▉█")

// printText draws the bars with characters, to an eighth of one. What is above zero
// shows.
func (c chart) printText(w io.Writer) {
	fmt.Fprintf(w, "%s\n", c.title)
	widest := 0
	for _, b := range c.bars {
		widest = max(widest, utf8.RuneCountInString(b.name))
	}
	for _, b := range c.bars {
		fmt.Fprintf(w, "  %-*s  %s %s\n", widest, b.name, textBar(b.value, c.longest()), b.text)
	}
}

func (c chart) longest() float64 {
	longest := 0.0
	for _, b := range c.bars {
		longest = max(longest, b.value)
	}
	return longest
}

// textBar is a bar of chartWidth characters where value is longest.
func textBar(value, longest float64) string {
	if value <= 0 || longest <= 0 {
		return ""
	}
	n := max(1, int(math.Round(value/longest*chartWidth*8)))
	text := strings.Repeat(string(eighths[7]), n/8)
	if n%8 > 0 {
		text += string(eighths[n%8-1])
	}
	return text
}

// Sizes of a picture, in pixels.
const (
	svgWidth  = 860
	svgNames  = 130 // the column of names
	svgLine   = 34
	svgHeader = 52
	svgNote   = 18
	svgFooter = 16
	svgBars   = 480 // the longest
)

// svg is the chart as a picture that needs nothing else.
func (c chart) svg() string {
	var s strings.Builder
	bottom := svgHeader + svgLine*len(c.bars)
	height := bottom + svgNote*len(c.notes) + svgFooter
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="14">`+"\n", svgWidth, height)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="white"/>`+"\n", svgWidth, height)
	fmt.Fprintf(&s, `<text x="16" y="30" font-size="17" font-weight="bold">%s</text>`+"\n", html.EscapeString(c.title))
	for i, b := range c.bars {
		y, width := svgHeader+svgLine*i, 0.0
		if b.value > 0 {
			width = max(1, b.value/c.longest()*svgBars)
		}
		fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", svgNames-8, y+20, html.EscapeString(b.name))
		fmt.Fprintf(&s, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="#3b6ea5"/>`+"\n", svgNames, y+4, width, svgLine-10)
		fmt.Fprintf(&s, `<text x="%.1f" y="%d">%s</text>`+"\n", svgNames+width+8, y+20, html.EscapeString(b.text))
	}
	for i, note := range c.notes {
		fmt.Fprintf(&s, `<text x="16" y="%d" font-size="11" fill="#555555">%s</text>`+"\n", bottom+svgNote*(i+1), html.EscapeString(note))
	}
	return s.String() + "</svg>\n"
}

// writeSVG writes the picture, whole or not at all.
func (c chart) writeSVG(file string) error {
	return chartError(renameio.WriteFile(file, []byte(c.svg()), 0o644))
}

// chartFolder fails where the folder of a picture is not there.
func chartFolder(file string) error {
	_, err := os.Stat(filepath.Dir(file))
	return chartError(err)
}

func chartError(err error) error {
	if err == nil {
		return nil
	}
	return hintedError{fmt.Errorf("the chart cannot be written: %w", err), "name a file in a folder that you may write to"}
}
