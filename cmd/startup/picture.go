package startup

import (
	"fmt"
	"math"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/startup/chart"
)

// pictured are the scenarios of a picture, in the order of the report, with their descriptions.
var pictured = []struct{ name, about string }{
	{Cold, "nothing kept: everything is compiled"},
	{BinaryOnly, "program binaries; driver's cache empty"},
	{DriverOnly, "no binaries; driver's cache warm"},
	{Both, "program binaries and driver's cache"},
}

// Chart returns a chart of the totals of the scenarios that ran. origin are lines about machine
// and date, or about the log that has the figures.
func (r *Result) Chart(origin ...string) chart.Chart {
	have := "have"
	if r.Programs == 1 {
		have = "has"
	}
	c := chart.Chart{
		Title:    fmt.Sprintf("Milliseconds until %s %s run", cli.Plural(r.Programs, "program"), have),
		Subtitle: r.GPU,
		Unit:     "ms",
		Notes:    append(r.notes(), origin...),
	}
	cold := r.Scenarios[Cold].TotalMillis
	for _, scenario := range pictured {
		f, ran := r.Scenarios[scenario.name]
		if !ran {
			continue
		}
		b := chart.Bar{Name: scenario.name, About: scenario.about, Value: f.TotalMillis, Least: f.LeastTotalMillis, Most: f.MostTotalMillis,
			Text: readable(f.TotalMillis) + " ms", Strong: scenario.name == Both}
		if times := cold / f.TotalMillis; b.Strong && times >= 2 {
			b.Text += ", " + readable(times) + " times as fast as cold"
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// notes returns how the bars were measured.
func (r *Result) notes() []string {
	how := "one program after the other"
	if r.Preload {
		how = "all programs at once"
	}
	runs := "one run"
	if r.Repeat > 1 {
		runs = fmt.Sprintf("median of %d runs", r.Repeat)
	}
	least, most, ranges := math.Inf(1), 0.0, false
	for _, f := range r.Scenarios {
		least, most = min(least, f.ContextMillis), max(most, f.ContextMillis)
		ranges = ranges || f.MostTotalMillis > f.LeastTotalMillis
	}
	if ranges {
		runs += " and their range"
	}
	return []string{
		fmt.Sprintf("From the first request to the last result, each in a fresh process, %s; %s.", how, runs),
		fmt.Sprintf("Every element of every result was verified. Opening the GPU, %.0f to %.0f ms, comes before and is not in it.", least, most),
		"Driver: " + r.Driver,
	}
}

// readable returns v with at least three digits.
func readable(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
