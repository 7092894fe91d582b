package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var sampleChart = chart{
	title: "a < b",
	notes: []string{`by "A & B"`, "and C"},
	bars:  []bar{{"cold", 1000, "1000 ms"}, {"half", 500, "500 ms"}, {"a longer name", 1, "1 ms"}, {"none", 0, "0 ms"}},
}

func TestTextBar(t *testing.T) {
	full := strings.Repeat("█", chartWidth)
	for _, test := range []struct {
		value, longest float64
		want           string
	}{
		{10, 10, full},
		{5, 10, full[:len(full)/2]},
		{10 / (chartWidth * 8.0), 10, "▏"},
		{1e-9, 10, "▏"},
		{10 * 11 / (chartWidth * 8.0), 10, "█▍"},
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
	sampleChart.printText(&b)
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

// A picture is well-formed whatever is in its texts, its bars are as long as their
// values say, and nothing is beside it.
func TestChartSVG(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "chart.svg")
	if err := sampleChart.writeSVG(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var widths, texts []string
	decoder := xml.NewDecoder(strings.NewReader(string(data)))
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
	if got, want := strings.Join(widths, " "), "860 480.0 240.0 1.0 0.0"; got != want {
		t.Errorf("widths %s, want %s", got, want)
	}
	if got, want := strings.Join(texts, "|"), `a < b|cold|1000 ms|half|500 ms|a longer name|1 ms|none|0 ms|by "A & B"|and C`; got != want {
		t.Errorf("texts %s, want %s", got, want)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%v is in the folder", entries)
	}
	if err := sampleChart.writeSVG(filepath.Join(dir, "none", "chart.svg")); err == nil {
		t.Error("a folder that is not there took a file")
	}
}
