package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

var sampleChart = Chart{
	Title:    "a < b",
	Subtitle: "of c",
	Unit:     "ms",
	Notes:    []string{`by "A & B"`, "and C"},
	Bars: []Bar{{Name: "cold", Value: 1000, Text: "1000 ms"}, {Name: "half", About: "of cold", Value: 500, Text: "500 ms", Least: 450, Most: 600},
		{Name: "a longer name", Value: 1, Text: "1 ms"}, {Name: "none", Text: "0 ms"}},
}

func TestTextBar(t *testing.T) {
	full := strings.Repeat("█", textWidth)
	for _, test := range []struct {
		value, longest float64
		want           string
	}{
		{10, 10, full},
		{5, 10, full[:len(full)/2]},
		{10 / (textWidth * 8.0), 10, "▏"},
		{1e-9, 10, "▏"},
		{10 * 11 / (textWidth * 8.0), 10, "█▍"},
		{0, 10, ""},
		{0, 0, ""},
	} {
		if got := textBar(test.value, test.longest); got != test.want {
			t.Errorf("%v of %v: got %q, want %q", test.value, test.longest, got, test.want)
		}
	}
}

// Every bar begins in the same column.
func TestChartTextIsAligned(t *testing.T) {
	var b strings.Builder
	sampleChart.WriteText(&b)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 5 || lines[0] != "a < b" {
		t.Fatalf("got %q", lines)
	}
	for _, line := range lines[1:4] {
		if column := strings.IndexAny(line, "▏▎▍▌▋▊▉█"); utf8.RuneCountInString(line[:column]) != 2+len("a longer name")+2 {
			t.Errorf("the bar begins at %d in %q", column, line)
		}
	}
	if !strings.HasSuffix(lines[1], "█ 1000 ms") || !strings.HasSuffix(lines[4], "  0 ms") {
		t.Errorf("got %q", lines)
	}
}

// A picture is well-formed with any text, and its bars have the lengths of their values.
func TestChartSVG(t *testing.T) {
	var widths, texts []string
	decoder := xml.NewDecoder(strings.NewReader(sampleChart.SVG()))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			for _, a := range e.Attr {
				if e.Name.Local == "rect" && a.Name.Local == "width" {
					widths = append(widths, a.Value)
				}
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(e)); text != "" {
				texts = append(texts, text)
			}
		}
	}
	if got, want := strings.Join(widths, " "), "860 400.0 200.0 1.0 0.0"; got != want {
		t.Errorf("widths %s, want %s", got, want)
	}
	if got, want := strings.Join(texts, "|"), `a < b|a < b|of c|0|500|1000 ms|cold|1000 ms|of cold|half|500 ms|a longer name|1 ms|none|0 ms|by "A & B"|and C`; got != want {
		t.Errorf("texts %s, want %s", got, want)
	}
}

// Marks are multiples of a round number, two to five of them beside 0.
func TestMarks(t *testing.T) {
	for end, want := range map[float64]string{
		0: "[0]", 0.25: "[0 0.1 0.2]", 1: "[0 0.5 1]", 1.9: "[0 0.5 1 1.5]", 2: "[0 1 2]", 4.99: "[0 1 2 3 4]",
		5: "[0 2 4]", 879: "[0 200 400 600 800]", 11553: "[0 5000 10000]", 999: "[0 200 400 600 800]", math.Inf(1): "[0]",
	} {
		if got := fmt.Sprint(Marks(end)); got != want {
			t.Errorf("up to %v: got %s, want %s", end, got, want)
		}
	}
}
