package main

import (
	"maps"
	"slices"

	"github.com/shadercache/shadercache/remote"
)

// errorCount returns the errors of all classes.
func errorCount(c remote.Counters) (total int64) {
	for _, n := range c.Errors {
		total += n
	}
	return total
}

// errorClasses returns the classes of errors that happened, in order.
func errorClasses(c remote.Counters) []string { return slices.Sorted(maps.Keys(c.Errors)) }

// latestFirst returns heads in the order of their last changes.
func latestFirst(heads []remote.Head) []remote.Head {
	return slices.SortedFunc(slices.Values(heads), func(a, b remote.Head) int { return b.Time.Compare(a.Time) })
}
