// Package daxpy adds multiples of float32 vectors to float64 sums, for references on the
// CPU.
package daxpy

import "math"

// Add adds factor * x[i] to sums[i], and its absolute value to magnitudes[i]. A factor that is
// a float32 makes each product exact, so the result has the same bits on every processor. sums
// and magnitudes are at least as long as x.
func Add(sums, magnitudes []float64, x []float32, factor float64) {
	sums, magnitudes = sums[:len(x)], magnitudes[:len(x)]
	done := 0
	if supported {
		if done = len(x) &^ (lanes - 1); done > 0 {
			addVector(&sums[0], &magnitudes[0], &x[0], factor, done)
		}
	}
	for i, v := range x[done:] {
		product := factor * float64(v)
		sums[done+i] += product
		magnitudes[done+i] += math.Abs(product)
	}
}

// lanes are the elements of a register.
const lanes = 4
