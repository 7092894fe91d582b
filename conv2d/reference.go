package conv2d

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Expected is what a result should be.
type Expected struct {
	Values []float64
	// Magnitudes are the sums of the absolute products that went into Values:
	// what the rounding error of each element is relative to. A small value
	// that is the difference of large ones has a large magnitude.
	Magnitudes []float64
}

func newExpected(n int) Expected {
	return Expected{Values: make([]float64, n), Magnitudes: make([]float64, n)}
}

// ReferenceConv2D computes a valid problem on the CPU with float64 accumulation,
// on all processors. bias may be nil. It panics where a slice does not have the
// problem's length.
func ReferenceConv2D(p Problem, input, weights, bias []float32) Expected {
	if err := p.checkLengths(input, weights, bias); err != nil {
		panic(err.Error())
	}
	e := newExpected(p.OutputLen())
	height, width := p.P(), p.Q()
	eachRow(p.N*p.K*height, func(row int) {
		plane, y := row/height, row%height
		line := referenceLine{p, plane / p.K, plane % p.K, y, input, weights}
		start := 0.0
		if bias != nil {
			start = float64(bias[line.k])
		}
		for x := range width {
			e.Values[row*width+x], e.Magnitudes[row*width+x] = line.element(x, start)
		}
	})
	return e
}

// referenceLine is one row of the output of a convolution.
type referenceLine struct {
	Problem
	n, k, p        int
	input, weights []float32
}

// element is the output in column q, and its magnitude.
func (l referenceLine) element(q int, start float64) (sum, magnitude float64) {
	sum, magnitude = start, math.Abs(start)
	top := l.p*orOne(l.StrideH) - l.PadH
	left := q*orOne(l.StrideW) - l.PadW
	across := orOne(l.DilationW)
	for c := range l.C {
		for r := range l.R {
			y := top + r*orOne(l.DilationH)
			if y < 0 || y >= l.H {
				continue
			}
			line := l.input[((l.n*l.C+c)*l.H+y)*l.W:][:l.W]
			taps := l.weights[((l.k*l.C+c)*l.R+r)*l.S:][:l.S]
			for s, tap := range taps {
				if x := left + s*across; x >= 0 && x < l.W {
					v := float64(tap) * float64(line[x])
					sum += v
					magnitude += math.Abs(v)
				}
			}
		}
	}
	return sum, magnitude
}

// ReferenceGEMM computes A*B on the CPU with float64 accumulation, on all
// processors, without scale and activation: [Expected.Activated] adds those, so
// that many variants can share one product. It panics where a slice does not
// have the problem's length.
func ReferenceGEMM(p GEMMProblem, a, b []float32) Expected {
	if err := p.checkLengths(a, b); err != nil {
		panic(err.Error())
	}
	e := newExpected(p.CLen())
	eachRow(p.M, func(row int) {
		values, magnitudes := e.Values[row*p.N:][:p.N], e.Magnitudes[row*p.N:][:p.N]
		for k, factor := range a[row*p.K:][:p.K] {
			for column, v := range b[k*p.N:][:p.N] {
				v := float64(factor) * float64(v)
				values[column] += v
				magnitudes[column] += math.Abs(v)
			}
		}
	})
	return e
}

// Activated is what a program of this variant makes of the product e. It leaves
// e as it is.
func (e Expected) Activated(v Variant) Expected {
	scale := float64(v.factor())
	out := newExpected(len(e.Values))
	for i, x := range e.Values {
		out.Values[i] = v.Activation.Apply(scale * x)
		out.Magnitudes[i] = v.Activation.magnitude(math.Abs(scale) * e.Magnitudes[i])
	}
	return out
}

// eachRow calls work once for every row, on all processors, and waits.
func eachRow(rows int, work func(row int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(rows, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for row := next.Add(1) - 1; row < int64(rows); row = next.Add(1) - 1 {
				work(int(row))
			}
		})
	}
	workers.Wait()
}

// checkLengths compares the lengths of slices with the problem.
func (p Problem) checkLengths(input, weights, bias []float32) error {
	switch {
	case len(input) != p.InputLen():
		return lengthError("input", len(input), p.InputLen())
	case len(weights) != p.WeightsLen():
		return lengthError("weights", len(weights), p.WeightsLen())
	case bias != nil && len(bias) != p.BiasLen():
		return lengthError("bias", len(bias), p.BiasLen())
	}
	return nil
}

// checkLengths compares the lengths of slices with the problem.
func (p GEMMProblem) checkLengths(a, b []float32) error {
	switch {
	case len(a) != p.ALen():
		return lengthError("A", len(a), p.ALen())
	case len(b) != p.BLen():
		return lengthError("B", len(b), p.BLen())
	}
	return nil
}

func lengthError(name string, got, want int) error {
	return fmt.Errorf("conv2d: %s has %d elements, the problem needs %d", name, got, want)
}
