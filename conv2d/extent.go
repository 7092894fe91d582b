package conv2d

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// maxElements is the most elements that one tensor may have: kernels index with
// a signed 32-bit integer.
const maxElements = math.MaxInt32

// product multiplies non-negative factors and saturates at math.MaxInt64.
func product(factors ...int) int64 {
	if slices.Min(factors) <= 0 {
		return 0
	}
	total := uint64(1)
	for _, f := range factors {
		high, low := bits.Mul64(total, uint64(f))
		if high != 0 || low > math.MaxInt64 {
			return math.MaxInt64
		}
		total = low
	}
	return int64(total)
}

// saturatedSum adds non-negative numbers and saturates at math.MaxInt64.
func saturatedSum(terms ...int64) int64 {
	total := int64(0)
	for _, t := range terms {
		if t > math.MaxInt64-total {
			return math.MaxInt64
		}
		total += t
	}
	return total
}

// faults collects the faults of a problem.
type faults []error

func (f *faults) addf(format string, args ...any) {
	*f = append(*f, fmt.Errorf(format, args...))
}

// fields are values of a problem with their names.
type fields []struct {
	name  string
	value int
}

// within adds a fault for each value unless low <= value <= maxElements.
func (f *faults) within(low int, list fields) {
	for _, v := range list {
		switch {
		case v.value < low:
			f.addf("%s is %d, must be at least %d", v.name, v.value, low)
		case v.value > maxElements:
			f.addf("%s is %d, must be at most %d", v.name, v.value, maxElements)
		}
	}
}

// inRange reports whether within would add no fault.
func inRange(low int, values ...int) bool {
	for _, v := range values {
		if v < low || v > maxElements {
			return false
		}
	}
	return true
}

// tensor adds a fault when a tensor of these dimensions cannot be indexed.
func (f *faults) tensor(name string, dimensions ...int) {
	if product(dimensions...) > maxElements {
		f.addf("%s %v has more than %d elements", name, dimensions, maxElements)
	}
}

// of returns the error of a problem, nil without faults.
func (f faults) of(problem fmt.Stringer, kind string) error {
	if f == nil {
		return nil
	}
	return fmt.Errorf("conv2d: invalid %s %v:\n%w", kind, problem, errors.Join(f...))
}

// ceilDiv is a/b rounded up, for a >= 0 and b > 0.
func ceilDiv(a, b int) int {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}
