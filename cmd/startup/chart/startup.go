package chart

import (
	"fmt"
	"math"
)

// Startup is a result of the start-up benchmark.
type Startup struct {
	GPU, Driver string
	Programs    int
	Repeat      int
	Preload     bool     // all programs were requested at once
	Origin      []string // lines about machine and date
	Scenarios   map[string]Scenario
}

// Scenario holds the medians of one scenario, in milliseconds.
type Scenario struct {
	Total       float64 // from the first get to the last result
	Least, Most float64 // totals; both 0 where unknown
	Context     float64
}

// scenarios are the scenarios in the order of the report, with their descriptions.
var scenarios = []struct{ name, about string }{
	{"cold", "nothing kept: everything is compiled"},
	{"binary_only", "program binaries; driver's cache empty"},
	{"driver_only", "no binaries; driver's cache warm"},
	{"both", "program binaries and driver's cache"},
}

// Chart returns a chart of the totals of the scenarios that ran.
func (s Startup) Chart() Chart {
	what := fmt.Sprintf("%d programs have", s.Programs)
	if s.Programs == 1 {
		what = "1 program has"
	}
	c := Chart{
		Title:    "Milliseconds until " + what + " run",
		Subtitle: s.GPU,
		Unit:     "ms",
		Notes:    s.notes(),
	}
	cold := s.Scenarios["cold"].Total
	for _, scenario := range scenarios {
		m, ran := s.Scenarios[scenario.name]
		if !ran {
			continue
		}
		b := Bar{Name: scenario.name, About: scenario.about, Value: m.Total, Least: m.Least, Most: m.Most,
			Text: readable(m.Total) + " ms", Strong: scenario.name == "both"}
		if times := cold / m.Total; b.Strong && times >= 2 {
			b.Text += ", " + readable(times) + " times as fast as cold"
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// notes returns how the bars were measured.
func (s Startup) notes() []string {
	how := "one program after the other"
	if s.Preload {
		how = "all programs at once"
	}
	runs := "one run"
	if s.Repeat > 1 {
		runs = fmt.Sprintf("median of %d runs", s.Repeat)
	}
	least, most, ranges := math.Inf(1), 0.0, false
	for _, m := range s.Scenarios {
		least, most = min(least, m.Context), max(most, m.Context)
		ranges = ranges || m.Most > m.Least
	}
	if ranges {
		runs += " and their range"
	}
	return append([]string{
		fmt.Sprintf("From the first request to the last result, each in a fresh process, %s; %s.", how, runs),
		fmt.Sprintf("Every element of every result was verified. Opening the GPU, %.0f to %.0f ms, comes before and is not in it.", least, most),
		"Driver: " + s.Driver,
	}, s.Origin...)
}

// readable returns v with at least three digits.
func readable(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
