// Package bars compares the figures of a benchmark's result with bars from a file, and those
// of folders of logs as a table.
//
// A figure is found by its path in the JSON of a result: names of fields with dots between
// them. Behind the name of a list, brackets select the elements that have all the given
// values: rows[kernel_us=2,depth=3].jobs_per_s. At least one must.
package bars

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/shadercache/shadercache/internal/strict"
)

// Bar is a bound of one figure, or of several. Without at_least and at_most a bar of a row is
// shown, and not compared.
type Bar struct {
	Row    string `json:"row,omitempty"`  // what it measures, with the bars beside it that have the same
	Unit   string `json:"unit,omitempty"` // of the figure
	Log    string `json:"log,omitempty"`  // file of scripts/measure with the figure: the bar is for the benchmark that writes it
	On     string `json:"on,omitempty"`   // "gpu" or "software": the devices that it is for; none: all
	Figure string `json:"figure"`         // path of a number in the log

	First int     `json:"first,omitempty"` // how many elements count, where not all; fewer are an error
	Minus string  `json:"minus,omitempty"` // path of what is subtracted from the figure
	Over  string  `json:"over,omitempty"`  // path of what the figure is divided by
	Times float64 `json:"times,omitempty"` // factor of the figure, to have it in Unit
	Of    string  `json:"of,omitempty"`    // what counts of several: "geomean", "least", "median" or "most"; "" each

	AtLeast *float64 `json:"at_least,omitempty"` // the figure that a result needs
	AtMost  *float64 `json:"at_most,omitempty"`  // the figure that a result may have
}

// Read reads bars from a file: a JSON list of Bar.
func Read(path string) ([]Bar, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []Bar
	if err := strict.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: it has no bars", path)
	}
	for i, b := range list {
		if err := b.validate(); err != nil {
			return nil, fmt.Errorf("%s: bar %d: %w", path, i+1, err)
		}
	}
	return list, nil
}

func (b Bar) validate() error {
	switch {
	case b.Figure == "":
		return errors.New("it needs a figure")
	case b.Row == "" && b.AtLeast == nil && b.AtMost == nil:
		return errors.New("it needs at_least or at_most")
	case b.Row != "" && b.Log == "":
		return errors.New("one with a row needs a log")
	case b.On != "" && b.On != OnGPU && b.On != OnSoftware:
		return fmt.Errorf("on is %q or %q", OnGPU, OnSoftware)
	case b.Of != "" && combined[b.Of] == nil:
		return fmt.Errorf("of is one of %s", strings.Join(slices.Sorted(maps.Keys(combined)), ", "))
	}
	return nil
}

// Devices that a bar may be for.
const (
	OnGPU      = "gpu"
	OnSoftware = "software"
)

// For returns the bars for the benchmark that writes a log, and those without a log.
func For(list []Bar, log string) (some []Bar, err error) {
	var logs []string
	for _, b := range list {
		if b.Log == "" || b.Log == log {
			some = append(some, b)
		} else if !slices.Contains(logs, b.Log) {
			logs = append(logs, b.Log)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("bench: there are no bars for %s, only for %s", log, strings.Join(logs, ", "))
	}
	return some, nil
}

// Check returns an error with a table of the figures of result that fall short of their
// bars, or nil. result is anything that encodes as JSON.
func Check(list []Bar, result any) error {
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		return err
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	short, compared := 0, 0
	for _, b := range list {
		if !b.isFor(root) {
			continue
		}
		compared++
		values, err := b.values(root)
		if err != nil {
			return fmt.Errorf("bench: bar %s: %w", b.Figure, err)
		}
		for _, v := range values {
			if text := b.missed(v); text != "" {
				short++
				fmt.Fprintf(w, "\n%s\t%.6g\t%s", b.Figure, v, text)
			}
		}
	}
	switch {
	case compared == 0 && len(list) > 0:
		return errors.New("bench: none of the bars is for this device")
	case short == 0:
		return nil
	}
	w.Flush()
	return fmt.Errorf("bench: %d of the figures fall short of their bars:%s", short, table.String())
}

// missed returns the bound that v is beyond, or "".
func (b Bar) missed(v float64) string {
	switch {
	case b.AtLeast != nil && !(v >= *b.AtLeast):
		return fmt.Sprintf("at least %.6g", *b.AtLeast)
	case b.AtMost != nil && !(v <= *b.AtMost):
		return fmt.Sprintf("at most %.6g", *b.AtMost)
	}
	return ""
}
