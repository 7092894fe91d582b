package measure

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Geomean returns the geometric mean of values above 0, and 0 where there are none.
func Geomean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	logs := 0.0
	for _, v := range values {
		logs += math.Log(v)
	}
	return math.Exp(logs / float64(len(values)))
}

// MedianBy returns the element whose key is the median of all keys, and the lower of
// two. The list has at least one element.
func MedianBy[T any](list []T, key func(T) float64) T {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return sorted[(len(sorted)-1)/2]
}

// Latencies are the quantiles of a list of times, all 0 for an empty list.
type Latencies struct{ Median, P99, Max time.Duration }

// NewLatencies returns the quantiles of times. It sorts them.
func NewLatencies(times []time.Duration) Latencies {
	if len(times) == 0 {
		return Latencies{}
	}
	slices.Sort(times)
	n := len(times)
	return Latencies{(times[(n-1)/2] + times[n/2]) / 2, times[n*99/100], times[n-1]}
}

// Micros returns a time in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Millis returns a time in milliseconds, unrounded.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
