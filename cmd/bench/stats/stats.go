// Package stats holds the statistics of benchmarks: median and spread. It depends on nothing
// else of this project.
package stats

import (
	"slices"
)

// Spread is a figure that was measured several times.
type Spread struct {
	Median float64 `json:"median"` // of all
	Least  float64 `json:"least"`  // smallest
	Most   float64 `json:"most"`   // largest
}

// NewSpread returns the spread of values, all 0 where there are none.
func NewSpread(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	return Spread{Median(values), slices.Min(values), slices.Max(values)}
}

// Median returns the median of values: the mean of the two in the middle where their
// number is even, and 0 where there are none. It does not change values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
