package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Positions and sizes in a picture, in pixels.
const (
	svgWidth  = 860
	svgMargin = 20
	svgHeader = 78 // title and subtitle
	svgNames  = 256
	svgBars   = 400 // length of the longest bar
	svgRow    = 46
	svgBar    = 24 // height of a bar
	svgAxis   = 34
	svgNote   = 17
	svgFooter = 14
)

// Colours of text, secondary text, the scale, bars and highlighted bars.
const (
	inkColour    = "#1f2328"
	quietColour  = "#59636e"
	gridColour   = "#d8dee4"
	barColour    = "#8fa3b8"
	strongColour = "#1a7f5a"
)

// SVG returns the chart as a picture.
func (c Chart) SVG() string {
	bottom := svgHeader + svgRow*len(c.Bars)
	height := bottom + svgAxis + svgNote*len(c.Notes) + svgFooter
	s := &picture{}
	s.line(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="system-ui, 'DejaVu Sans', Arial, sans-serif" font-size="13">`, svgWidth, height)
	s.line(`<title>%s</title>`, html.EscapeString(c.Title))
	s.line(`<rect width="%d" height="%d" fill="white"/>`, svgWidth, height)
	s.text(svgMargin, 34, `font-size="19" font-weight="bold"`, inkColour, c.Title)
	s.text(svgMargin, 56, "", quietColour, c.Subtitle)
	scale := 0.0 // pixels of a unit
	end := c.longest()
	for _, b := range c.Bars {
		end = max(end, b.Most)
	}
	if end > 0 {
		scale = svgBars / end
	}
	s.axis(Marks(end), c.Unit, scale, bottom)
	for i, b := range c.Bars {
		s.bar(b, scale, svgHeader+svgRow*i)
	}
	for i, note := range c.Notes {
		s.text(svgMargin, float64(bottom+svgAxis+svgNote*(i+1)), `font-size="11"`, quietColour, note)
	}
	return s.String() + "</svg>\n"
}

// picture collects the lines of a file.
type picture struct{ strings.Builder }

func (s *picture) line(format string, values ...any) { fmt.Fprintf(s, format+"\n", values...) }

func (s *picture) text(x, y float64, style, colour, text string) {
	if text != "" {
		s.line(`<text x="%.1f" y="%.0f" fill="%s" %s>%s</text>`, x, y, colour, style, html.EscapeString(text))
	}
}

// axis draws the scale behind the bars, with the unit at its last mark.
func (s *picture) axis(marks []float64, unit string, scale float64, bottom int) {
	for i, v := range marks {
		x, text := svgNames+v*scale, fmt.Sprintf("%.10g", v)
		if i == len(marks)-1 {
			text += " " + unit
		}
		s.line(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s"/>`, x, svgHeader, x, bottom+4, gridColour)
		s.text(x, float64(bottom+20), `font-size="11" text-anchor="middle"`, quietColour, text)
	}
}

// Marks returns 0 and some multiples of a round number, up to end.
func Marks(end float64) []float64 {
	list := []float64{0}
	if end <= 0 || math.IsInf(end, 1) {
		return list
	}
	step := math.Pow(10, math.Floor(math.Log10(end)))
	switch { // at least two steps, at most five
	case end/step < 2:
		step /= 2
	case end/step >= 5:
		step *= 2
	}
	for n := 1.0; n*step <= end; n++ {
		list = append(list, n*step)
	}
	return list
}

// bar draws one bar in a line whose top is y.
func (s *picture) bar(b Bar, scale float64, y int) {
	middle, colour, weight := float64(y+svgRow/2), barColour, ""
	if b.Strong {
		colour, weight = strongColour, ` font-weight="bold"`
	}
	line := middle + 5
	if b.About != "" {
		s.text(svgMargin, middle+12, `font-size="11"`, quietColour, b.About)
		line = middle - 3
	}
	s.text(svgMargin, line, weight, inkColour, b.Name)
	end := 0.0
	if b.Value > 0 {
		end = max(1, b.Value*scale)
	}
	s.line(`<rect x="%d" y="%.0f" width="%.1f" height="%d" fill="%s"/>`, svgNames, middle-svgBar/2, end, svgBar, colour)
	if b.Most > b.Least {
		s.line(`<path d="M%.1f %.0fv8m0 -4H%.1fm0 -4v8" stroke="%s" fill="none"/>`,
			svgNames+b.Least*scale, middle-4, svgNames+b.Most*scale, inkColour)
		end = max(end, b.Most*scale)
	}
	s.text(svgNames+end+8, middle+5, weight, inkColour, b.Text)
}
