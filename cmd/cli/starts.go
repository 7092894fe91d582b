package cli

import "github.com/shadercache/shadercache/binary"

// SumStarts returns the sum of periods.
func SumStarts(periods []binary.Starts) (total binary.Counters) {
	for _, p := range periods {
		total.Add(p.Counters)
	}
	return total
}
