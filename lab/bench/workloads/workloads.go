// Package workloads measures whole programs on the GPU: the interpreter and the
// simulation of package lab/demo, and a work queue.
package workloads

import "errors"

// checkRepeat returns an error for a number of repeats out of bounds.
func checkRepeat(repeat int) error {
	if repeat < 1 || repeat > 100_000 {
		return errors.New("--repeat must be 1 to 100000")
	}
	return nil
}
