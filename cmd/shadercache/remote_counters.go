package main

import (
	"maps"
	"slices"

	"github.com/shadercache/shadercache/fleet"
)

// errorCount returns the errors of all classes.
func errorCount(c fleet.Counters) (total int64) {
	for _, n := range c.Errors {
		total += n
	}
	return total
}

// errorClasses returns the classes of errors that happened, in order.
func errorClasses(c fleet.Counters) []string { return slices.Sorted(maps.Keys(c.Errors)) }

// latestFirst returns heads in the order of their last changes.
func latestFirst(heads []fleet.Head) []fleet.Head {
	return slices.SortedFunc(slices.Values(heads), func(a, b fleet.Head) int { return b.Time.Compare(a.Time) })
}
