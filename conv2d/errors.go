package conv2d

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/job"
)

// Errors of plans. Those of the cache, the executor and the device pass through.
var (
	// ErrNoWeights is returned for a run of a plan before SetWeights.
	ErrNoWeights = errors.New("conv2d: the plan has no weights: call SetWeights first")
	errReleased  = fmt.Errorf("conv2d: the plan was %w", job.ErrReleased) // by the methods of a plan after Release
)

// MismatchError is returned when a result differs from the CPU reference.
type MismatchError struct{ Report Report }

func (e *MismatchError) Error() string {
	return "conv2d: the GPU's result differs from the CPU's: " + e.Report.String()
}

// length is the length of a slice and the one that the problem needs.
type length struct {
	name      string
	got, want int
}

// checkAll returns an error for each slice of another length, joined.
func checkAll(lengths ...length) error {
	var errs []error
	for _, l := range lengths {
		if l.got != l.want {
			errs = append(errs, fmt.Errorf("conv2d: %s has %d elements, the problem needs %d", l.name, l.got, l.want))
		}
	}
	return errors.Join(errs...)
}
