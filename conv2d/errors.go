package conv2d

import (
	"errors"
	"fmt"
)

// Errors of plans. Those of the cache, the executor and the device pass through.
var (
	// ErrNoWeights is returned for a run of a plan before SetWeights.
	ErrNoWeights = errors.New("conv2d: the plan has no weights: call SetWeights first")
	// ErrReleased is returned for whatever is asked of a plan after Release.
	ErrReleased = errors.New("conv2d: the plan was released")
)

// Errors of candidates, which end up as the reason for a verdict.
var (
	// errOverrun is returned when a kernel wrote past the end of its output.
	errOverrun = errors.New("the kernel wrote past the end of its output")
	// errArrivals is returned when a kernel left a count that is not 0.
	errArrivals = errors.New("the kernel left a count of its work groups that is not 0")
	// errHangs is returned when a kernel does not end.
	errHangs = errors.New("the GPU did not finish a candidate within a minute")
)

// MismatchError is returned when a result is not what the CPU reference gives.
type MismatchError struct{ Report Report }

func (e *MismatchError) Error() string {
	return "conv2d: the GPU's result differs from the CPU's: " + e.Report.String()
}

// length is what a slice has and what the problem needs.
type length struct {
	name      string
	got, want int
}

// checkAll says which slices have another length, joined.
func checkAll(lengths ...length) error {
	var errs []error
	for _, l := range lengths {
		if l.got != l.want {
			errs = append(errs, fmt.Errorf("conv2d: %s has %d elements, the problem needs %d", l.name, l.got, l.want))
		}
	}
	return errors.Join(errs...)
}
