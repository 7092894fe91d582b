package conv2d

import (
	"fmt"
	"math"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// Poison is written over every word of an output before a kernel runs: a NaN
// that no computation makes, so that an element that was not written shows.
const Poison uint32 = kernel.Poison

// smallestNormal is the smallest float32 that is not denormal. GL lets drivers
// treat anything smaller as zero.
const smallestNormal = 0x1p-126

// Tolerance is the error that float32 sums of the given length may have,
// relative to the magnitude of the sum: 1e-5 * sqrt(length).
func Tolerance(reductionLen int) float64 { return 1e-5 * math.Sqrt(float64(reductionLen)) }

// differentKind is the error of an element that was not written, or that is NaN
// or infinite against expectation. It surpasses every error in size and, unlike
// an infinity, can be written as JSON.
const differentKind = math.MaxFloat64

// Report is the result of a comparison.
type Report struct {
	Elements  int     `json:"elements"`
	Wrong     int     `json:"wrong"`     // elements out of tolerance, those below included
	Unwritten int     `json:"unwritten"` // elements that still hold Poison
	NaNs      int     `json:"nans"`      // elements that are NaN where a number was expected
	MaxError  float64 `json:"max_error"` // relative; math.MaxFloat64 for a difference in kind
	Tolerance float64 `json:"tolerance"`
	Worst     int     `json:"worst"` // the element of MaxError; -1 where there are no elements
	Got       float32 `json:"-"`     // what it is
	Want      float64 `json:"-"`     // what it should be
}

// OK reports whether every element is right.
func (r Report) OK() bool { return r.Wrong == 0 }

// Err returns nil where every element is right, else a [*MismatchError].
func (r Report) Err() error {
	if r.OK() {
		return nil
	}
	return &MismatchError{r}
}

// String returns the report in one line.
func (r Report) String() string {
	if r.OK() {
		return fmt.Sprintf("%d elements, largest error %.2g of %.2g allowed", r.Elements, r.MaxError, r.Tolerance)
	}
	return fmt.Sprintf("%d of %d elements are wrong, %d of them not written, %d NaN; the worst is %d: %v, should be %v",
		r.Wrong, r.Elements, r.Unwritten, r.NaNs, r.Worst, r.Got, r.Want)
}

// Append adds the report of the elements that follow those of r. The tolerance
// becomes the larger one.
func (r *Report) Append(next Report) {
	if r.Elements == 0 || next.MaxError > r.MaxError {
		r.MaxError, r.Worst, r.Got, r.Want = next.MaxError, r.Elements+next.Worst, next.Got, next.Want
	}
	r.Elements += next.Elements
	r.Wrong += next.Wrong
	r.Unwritten += next.Unwritten
	r.NaNs += next.NaNs
	r.Tolerance = max(r.Tolerance, next.Tolerance)
}

// Compare checks every element. An element is right when
//
//	|got - want| <= tolerance * magnitude
//
// where magnitude is the sum of the absolute products that make up the element:
// rounding in a sum is relative to its terms, so that an element near zero is
// not held to more than float32 can give. NaN is right where NaN is expected,
// an infinity where the same infinity, or a number beyond float32, is expected.
// Differences below the smallest normal float32 do not count. It panics when the
// lengths differ.
func Compare(got []float32, want Expected, tolerance float64) Report {
	if len(got) != len(want.Values) {
		panic(fmt.Sprintf("conv2d: comparing %d elements with %d", len(got), len(want.Values)))
	}
	r := Report{Elements: len(got), Tolerance: tolerance, Worst: -1}
	for i, g := range got {
		r.note(i, g, want.Values[i], want.Magnitudes[i])
	}
	return r
}

// note adds one element to the report.
func (r *Report) note(i int, got float32, want, magnitude float64) {
	e := relativeError(float64(got), want, magnitude)
	switch {
	case math.Float32bits(got) == Poison:
		r.Unwritten++
		e = differentKind
	case got != got && want == want:
		r.NaNs++
	}
	if e > r.Tolerance {
		r.Wrong++
	}
	if r.Worst < 0 || e > r.MaxError {
		r.MaxError, r.Worst, r.Got, r.Want = e, i, got, want
	}
}

// relativeError returns the difference of two numbers in units of magnitude.
func relativeError(got, want, magnitude float64) float64 {
	if f := float64(float32(want)); math.IsInf(f, 0) {
		want = f // a number beyond float32 is an infinity
	}
	switch {
	case math.IsNaN(got) || math.IsNaN(want):
		if math.IsNaN(got) && math.IsNaN(want) {
			return 0
		}
		return differentKind
	case got == want:
		return 0
	case math.IsInf(got, 0) || math.IsInf(want, 0):
		return differentKind
	}
	difference := math.Abs(got - want)
	if difference < smallestNormal {
		return 0
	}
	return difference / max(magnitude, smallestNormal)
}
