package conv2d

import (
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
// on all processors. A bias that is there is added, whether or not p.Bias is set.
// It panics where a slice does not have the problem's length.
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
			sum, magnitude := line.element(x, start)
			e.Values[row*width+x] = p.Activation.Apply(sum)
			e.Magnitudes[row*width+x] = p.Activation.magnitude(magnitude)
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
	channels := l.groupC()
	firstC := l.k / l.groupK() * channels
	for c := range channels {
		for r := range l.R {
			y := top + r*orOne(l.DilationH)
			if y < 0 || y >= l.H {
				continue
			}
			line := l.input[((l.n*l.C+firstC+c)*l.H+y)*l.W:][:l.W]
			taps := l.weights[((l.k*channels+c)*l.R+r)*l.S:][:l.S]
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

// GEMMTensors are the matrices of a product on the host. C is what it holds
// before: it matters where the problem has a Beta, or gaps in C, and may be nil
// otherwise. Bias is nil where the problem has none.
type GEMMTensors struct{ A, B, C, Bias []float32 }

// ReferenceGEMM computes a valid problem on the CPU with float64 accumulation, on
// all processors. Gaps in C keep what t.C has there. It panics where a slice does
// not have the problem's length.
func ReferenceGEMM(p GEMMProblem, t GEMMTensors) Expected {
	if err := p.checkTensors(t); err != nil {
		panic(err.Error())
	}
	e := newExpected(p.CLen())
	for i, v := range t.C {
		e.Values[i], e.Magnitudes[i] = float64(v), math.Abs(float64(v))
	}
	eachRow(orOne(p.Batch)*p.M, func(row int) { p.referenceRow(t, e, row/p.M, row%p.M) })
	return e
}

// referenceRow computes one row of one C.
func (p GEMMProblem) referenceRow(t GEMMTensors, e Expected, batch, row int) {
	a, b, c := p.a(), p.b(), p.c()
	sums, magnitudes := make([]float64, p.N), make([]float64, p.N)
	for k := range p.K {
		factor := float64(t.A[batch*a.stride+a.index(row, k, p.TransA)])
		for column := range p.N {
			v := factor * float64(t.B[batch*b.stride+b.index(k, column, p.TransB)])
			sums[column] += v
			magnitudes[column] += math.Abs(v)
		}
	}
	alpha, beta := float64(p.alpha()), float64(p.Beta)
	for column := range p.N {
		at := batch*c.stride + c.index(row, column, false)
		sum, magnitude := alpha*sums[column], math.Abs(alpha)*magnitudes[column]
		if beta != 0 {
			sum += beta * e.Values[at]
			magnitude += math.Abs(beta) * e.Magnitudes[at]
		}
		if p.Bias != NoBias {
			v := float64(t.Bias[p.biasIndex(row, column)])
			sum, magnitude = sum+v, magnitude+math.Abs(v)
		}
		e.Values[at], e.Magnitudes[at] = p.Activation.Apply(sum), p.Activation.magnitude(magnitude)
	}
}

// index is where an element of op(matrix) lies.
func (s stored) index(row, column int, trans bool) int {
	if trans {
		row, column = column, row
	}
	return row*s.ld + column
}

func (p GEMMProblem) biasIndex(row, column int) int {
	if p.Bias == RowBias {
		return row
	}
	return column
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
	lengths := []length{{"input", len(input), p.InputLen()}, {"weights", len(weights), p.WeightsLen()}}
	if bias != nil {
		lengths = append(lengths, length{"bias", len(bias), p.K})
	}
	return checkAll(lengths...)
}

// checkTensors compares the lengths of slices with the problem.
func (p GEMMProblem) checkTensors(t GEMMTensors) error {
	lengths := []length{{"A", len(t.A), p.ALen()}, {"B", len(t.B), p.BLen()}, {"bias", len(t.Bias), p.BiasLen()}}
	if t.C != nil || p.Beta != 0 {
		lengths = append(lengths, length{"C", len(t.C), p.CLen()})
	}
	return checkAll(lengths...)
}
