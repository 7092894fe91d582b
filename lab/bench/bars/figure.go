package bars

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// combined are the ways to make one figure of several.
var combined = map[string]func([]float64) float64{
	"geomean": measure.Geomean,
	"least":   func(values []float64) float64 { return slices.Min(values) },
	"median":  stats.Median,
	"most":    func(values []float64) float64 { return slices.Max(values) },
}

// isFor reports whether a result is of a device that the bar is for. One that does not
// name its device is of any.
func (b Bar) isFor(root any) bool {
	fields, _ := root.(map[string]any)
	gpu, named := fields["gpu"].(string)
	return b.On == "" || !named || (b.On == OnSoftware) == isSoftware(gpu)
}

// isSoftware reports whether the name of a GPU is that of a software driver of Mesa.
func isSoftware(gpu string) bool { return strings.HasPrefix(gpu, "llvmpipe") }

// values returns the figures that the bar bounds in a result.
func (b Bar) values(root any) ([]float64, error) {
	values, err := find(root, b.Figure)
	if err != nil {
		return nil, err
	}
	if b.First > len(values) {
		return nil, fmt.Errorf("%s has %d of %d figures", b.Figure, len(values), b.First)
	}
	if b.First > 0 {
		values = values[:b.First]
	}
	if b.Minus != "" {
		if err := combine(values, root, b.Minus, func(v, other float64) float64 { return v - other }); err != nil {
			return nil, err
		}
	}
	if b.Over != "" {
		if err := combine(values, root, b.Over, func(v, other float64) float64 { return v / other }); err != nil {
			return nil, err
		}
	}
	if b.Of != "" {
		values = []float64{combined[b.Of](values)}
	}
	for i := range values {
		if b.Times != 0 {
			values[i] *= b.Times
		}
		if math.IsNaN(values[i]) || math.IsInf(values[i], 0) {
			return nil, fmt.Errorf("%s is no number", b.Figure)
		}
	}
	return values, nil
}

// combine replaces each value by what with makes of it and of the number at a path: one
// for each value, or one for all.
func combine(values []float64, root any, path string, with func(v, other float64) float64) error {
	others, err := find(root, path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(others) != 1 && len(others) < len(values) {
		return fmt.Errorf("%s has %d values for %d", path, len(others), len(values))
	}
	for i := range values {
		values[i] = with(values[i], others[min(i, len(others)-1)])
	}
	return nil
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
