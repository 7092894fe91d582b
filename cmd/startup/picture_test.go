package startup

import (
	"reflect"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/startup/chart"
)

// A picture states which caches were empty, what is not in the figures, the number of
// runs and their range.
func TestStartupChart(t *testing.T) {
	r := Result{Header: bench.Header{GPU: "G", Driver: "D"}, Programs: 48, Repeat: 5, Preload: true, Scenarios: map[string]Figures{
		Both: {TotalMillis: 25, LeastTotalMillis: 20, MostTotalMillis: 40, ContextMillis: 51}, Cold: {TotalMillis: 1000, ContextMillis: 52.6},
	}}
	c := r.Chart("on M")
	want := chart.Chart{Title: "Milliseconds until 48 programs have run", Subtitle: "G", Unit: "ms",
		Bars: []chart.Bar{
			{Name: "cold", About: "nothing kept: everything is compiled", Value: 1000, Text: "1000 ms"},
			{Name: "both", About: "program binaries and driver's cache", Value: 25, Text: "25.0 ms, 40.0 times as fast as cold", Least: 20, Most: 40, Strong: true},
		},
		Notes: []string{
			"From the first request to the last result, each in a fresh process, all programs at once; median of 5 runs and their range.",
			"Every element of every result was verified. Opening the GPU, 51 to 53 ms, comes before and is not in it.",
			"Driver: D", "on M",
		}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	one := (&Result{Programs: 1, Repeat: 1, Scenarios: map[string]Figures{Both: {TotalMillis: 3}, Cold: {TotalMillis: 4}}}).Chart()
	if one.Title != "Milliseconds until 1 program has run" {
		t.Errorf("got %q", one.Title)
	}
	if one.Bars[1].Text != "3.0 ms" || !strings.Contains(one.Notes[0], "one program after the other; one run.") {
		t.Errorf("got %+v", one)
	}
}
