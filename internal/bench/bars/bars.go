// Package bars compares the figures of a benchmark's result with bars from a file.
package bars

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Bar is a bound of one figure, or of several.
type Bar struct {
	// Figure is the path of a number in the result: names of fields with dots between
	// them. Behind the name of a list, brackets select the elements that have all the
	// given values: rows[kernel_us=2,depth=3].jobs_per_s. At least one must.
	Figure string `json:"figure"`

	AtLeast *float64 `json:"at_least,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`
}

// Read reads bars from a file: a JSON list of Bar.
func Read(path string) ([]Bar, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []Bar
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: it has no bars", path)
	}
	for i, b := range list {
		if b.Figure == "" || b.AtLeast == nil && b.AtMost == nil {
			return nil, fmt.Errorf("%s: bar %d needs a figure, and at_least or at_most", path, i+1)
		}
	}
	return list, nil
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
	short := 0
	for _, b := range list {
		values, err := find(root, b.Figure)
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
	if short == 0 {
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

// find returns the numbers at a path.
func find(node any, path string) ([]float64, error) {
	nodes := []any{node}
	for path != "" {
		var name, selector string
		name, selector, path = step(path)
		var next []any
		for _, n := range nodes {
			fields, _ := n.(map[string]any)
			v, ok := fields[name]
			if !ok {
				return nil, fmt.Errorf("the result has no %s", name)
			}
			next = append(next, selected(v, selector)...)
		}
		if nodes = next; len(nodes) == 0 {
			return nil, fmt.Errorf("no element of %s has %s", name, selector)
		}
	}
	values := make([]float64, len(nodes))
	for i, n := range nodes {
		v, ok := n.(float64)
		if !ok {
			return nil, errors.New("it is no number")
		}
		values[i] = v
	}
	return values, nil
}

// step splits the first name, with its selector, from a path. Dots within brackets belong
// to the selector.
func step(path string) (name, selector, rest string) {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, "", ""
	}
	name, rest = path[:end], path[end:]
	if rest[0] == '[' {
		selector, rest, _ = strings.Cut(rest[1:], "]")
	}
	return name, selector, strings.TrimPrefix(rest, ".")
}

// selected returns the elements of a list that have the values of a selector. What is no
// list is returned itself.
func selected(v any, selector string) []any {
	list, ok := v.([]any)
	if !ok {
		return []any{v}
	}
	var found []any
	for _, element := range list {
		if hasValues(element, selector) {
			found = append(found, element)
		}
	}
	return found
}

// hasValues reports whether an element has all values of a selector: name=value, with
// commas between them.
func hasValues(element any, selector string) bool {
	fields, ok := element.(map[string]any)
	for pair := range strings.SplitSeq(selector, ",") {
		name, want, given := strings.Cut(pair, "=")
		if !given {
			continue
		}
		v, has := fields[name]
		ok = ok && has && text(v) == want
	}
	return ok
}

// text returns a value as a selector has it.
func text(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
