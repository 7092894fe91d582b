package main

import (
	"cmp"
	"errors"
	"slices"

	"github.com/shadercache/shadercache/internal/cli"
)

// spread is a figure that was measured several times.
type spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// newSpread needs at least one value.
func newSpread(values []float64) spread {
	return spread{median(values), slices.Min(values), slices.Max(values)}
}

// medianBy is the element in the middle, by what key says; of an even number the
// lower of the two. It needs at least one element.
func medianBy[T any](list []T, key func(T) float64) T {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return sorted[(len(sorted)-1)/2]
}

// unverified is the failure of a benchmark whose results were wrong.
func unverified(what string) error {
	return cli.Hint(errors.New("bench: "+what), "the figures mean nothing; the driver may be broken")
}
