package imaging

import (
	"fmt"
	"strings"
)

// Filter is a square convolution filter.
type Filter struct {
	Name    string
	Side    int       // rows and columns; odd
	Weights []float32 // Side*Side, row by row
}

// Filters are the filters that have a name.
func Filters() []Filter {
	return []Filter{
		{"edge", 3, []float32{
			-1, -1, -1,
			-1, 8, -1,
			-1, -1, -1,
		}},
		{"blur", 5, gaussian()},
		{"sharpen", 3, []float32{
			0, -1, 0,
			-1, 5, -1,
			0, -1, 0,
		}},
		{"emboss", 3, []float32{
			-2, -1, 0,
			-1, 1, 1,
			0, 1, 2,
		}},
	}
}

// gaussian is the 5x5 binomial filter, which comes close to a bell curve of
// standard deviation 1. Its weights add up to 1.
func gaussian() []float32 {
	line := []float32{1, 4, 6, 4, 1}
	weights := make([]float32, 0, len(line)*len(line))
	for _, down := range line {
		for _, across := range line {
			weights = append(weights, down*across/256)
		}
	}
	return weights
}

// All is the name that selects every filter.
const All = "all"

// Select returns the filter of a name, or every filter for All.
func Select(name string) ([]Filter, error) {
	filters := Filters()
	if name == All {
		return filters, nil
	}
	for _, f := range filters {
		if f.Name == name {
			return []Filter{f}, nil
		}
	}
	return nil, fmt.Errorf("imaging: there is no filter %q (there are %s)", name, strings.Join(FilterNames(), ", "))
}

// FilterNames returns the names that Select takes.
func FilterNames() []string {
	var names []string
	for _, f := range Filters() {
		names = append(names, f.Name)
	}
	return append(names, All)
}
