// Package chart draws bar charts: bars from zero on one scale, in a terminal or as an SVG
// picture without references to other files. A chart is a value that drawing does not
// change.
package chart

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Chart is a list of bars with its title and notes.
type Chart struct {
	Title    string
	Subtitle string // below the title of a picture
	Unit     string // of the values, on the axis of a picture
	Bars     []Bar
	Notes    []string // how, where and when, below a picture
}

// Bar is one line of a chart.
type Bar struct {
	Name  string
	About string  // description, below the name in a picture
	Value float64 // not below 0
	Text  string  // the value, behind the bar

	// Least and Most are those of the runs whose median Value is, and 0 where they are
	// unknown. A picture draws the range over the end of the bar.
	Least, Most float64

	Strong bool // highlighted
}

// textWidth is the length of the longest bar in a terminal, in characters.
const textWidth = 48

// eighths are the last characters of bars, from an eighth to a whole one.
var eighths = []rune("▏▎▍▌▋▊▉█")

// WriteText draws the bars with characters, to an eighth of one. A value above zero has
// at least one eighth.
func (c Chart) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s\n", c.Title)
	widest := 0
	for _, b := range c.Bars {
		widest = max(widest, utf8.RuneCountInString(b.Name))
	}
	for _, b := range c.Bars {
		fmt.Fprintf(w, "  %-*s  %s %s\n", widest, b.Name, textBar(b.Value, c.longest()), b.Text)
	}
}

// longest returns the largest value.
func (c Chart) longest() float64 {
	longest := 0.0
	for _, b := range c.Bars {
		longest = max(longest, b.Value)
	}
	return longest
}

// textBar returns a bar, of textWidth characters for the longest value.
func textBar(value, longest float64) string {
	if value <= 0 || longest <= 0 {
		return ""
	}
	n := max(1, int(math.Round(value/longest*textWidth*8)))
	text := strings.Repeat(string(eighths[7]), n/8)
	if n%8 > 0 {
		text += string(eighths[n%8-1])
	}
	return text
}
