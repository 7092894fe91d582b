package conv2d

import (
	"math"

	"github.com/shadercache/shadercache/conv2d/internal/daxpy"
	"github.com/shadercache/shadercache/conv2d/internal/parallel"
)

// Expected is a result of the CPU reference.
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

// set copies a part to the elements from at on.
func (e Expected) set(at int, part Expected) {
	copy(e.Values[at:], part.Values)
	copy(e.Magnitudes[at:], part.Magnitudes)
}

// ReferenceConv2D computes a valid problem on the CPU with float64 accumulation,
// on all processors. A bias that is there is added, whether or not p.Bias is set.
// It panics where a slice does not have the problem's length.
func ReferenceConv2D(p Problem, input, weights, bias []float32) Expected {
	if err := p.checkLengths(input, weights, bias); err != nil {
		panic(err.Error())
	}
	e := newExpected(p.OutputLen())
	parallel.For(p.outputRows(), func(row int) { e.set(row*p.Q(), p.expectedRow(input, weights, bias, row)) })
	return e
}

// outputRows is the number of rows of the output, of all images and filters.
func (p Problem) outputRows() int { return p.N * p.K * p.P() }

// expectedRow computes one row of the output.
func (p Problem) expectedRow(input, weights, bias []float32, row int) Expected {
	plane, y := row/p.P(), row%p.P()
	line := referenceLine{p, plane / p.K, plane % p.K, y, input, weights}
	return line.outputs(bias)
}

// expectedElement computes the i-th element of the output, and its magnitude.
func (p Problem) expectedElement(input, weights, bias []float32, i int) (value, magnitude float64) {
	row, x := i/p.Q(), i%p.Q()
	plane, y := row/p.P(), row%p.P()
	return referenceLine{p, plane / p.K, plane % p.K, y, input, weights}.output(x, bias)
}

// referenceLine is one row of the output of a convolution.
type referenceLine struct {
	Problem
	n, k, p        int
	input, weights []float32
}

// start is the value that a sum begins with.
func (l referenceLine) start(bias []float32) float64 {
	if bias == nil {
		return 0
	}
	return float64(bias[l.k])
}

// output is the output in column q, and its magnitude.
func (l referenceLine) output(q int, bias []float32) (value, magnitude float64) {
	sum, magnitude := l.element(q, l.start(bias))
	return l.Activation.Apply(sum), l.Activation.magnitude(magnitude)
}

// outputs is the outputs of all columns, to the bit: each sum has the same order.
func (l referenceLine) outputs(bias []float32) Expected {
	e, start, across := newExpected(l.Q()), l.start(bias), orOne(l.StrideW)
	under := make([]float32, len(e.Values)) // the elements under one tap
	for q := range e.Values {
		e.Values[q], e.Magnitudes[q] = start, math.Abs(start)
	}
	l.rows(func(line, taps []float32) {
		for s, tap := range taps {
			left := s*orOne(l.DilationW) - l.PadW // of the first column
			first, last := ceilDiv(max(0, -left), across), min(len(e.Values), ceilDiv(max(0, l.W-left), across))
			if first >= last {
				continue
			}
			x := line[first*across+left:]
			if across > 1 {
				for q := range last - first {
					under[q] = x[q*across]
				}
				x = under
			}
			daxpy.Add(e.Values[first:], e.Magnitudes[first:], x[:last-first], float64(tap))
		}
	})
	for q := range e.Values {
		e.Values[q], e.Magnitudes[q] = l.Activation.Apply(e.Values[q]), l.Activation.magnitude(e.Magnitudes[q])
	}
	return e
}

// rows calls add with each row of the input that the line depends on, and its row of the
// filter.
func (l referenceLine) rows(add func(line, taps []float32)) {
	top := l.p*orOne(l.StrideH) - l.PadH
	channels := l.groupC()
	firstC := l.k / l.groupK() * channels
	for c := range channels {
		for r := range l.R {
			if y := top + r*orOne(l.DilationH); y >= 0 && y < l.H {
				add(l.input[((l.n*l.C+firstC+c)*l.H+y)*l.W:][:l.W], l.weights[((l.k*channels+c)*l.R+r)*l.S:][:l.S])
			}
		}
	}
}

// element is the sum of column q before the activation, and its magnitude.
func (l referenceLine) element(q int, start float64) (sum, magnitude float64) {
	sum, magnitude = start, math.Abs(start)
	left := q*orOne(l.StrideW) - l.PadW
	across := orOne(l.DilationW)
	l.rows(func(line, taps []float32) {
		for s, tap := range taps {
			if x := left + s*across; x >= 0 && x < l.W {
				v := float64(tap) * float64(line[x])
				sum += v
				magnitude += math.Abs(v)
			}
		}
	})
	return sum, magnitude
}

// GEMMTensors are the matrices of a product on the host. C has the values from
// before: they matter where the problem has a beta, or gaps in C, and may be nil
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
	parallel.For(p.outputRows(), func(row int) { e.set(p.rowAt(row), p.expectedRow(t, row)) })
	return e
}

// outputRows is the number of rows of all C.
func (p GEMMProblem) outputRows() int { return orOne(p.Batch) * p.M }

// rowAt returns the index at which a row of all C begins.
func (p GEMMProblem) rowAt(row int) int { return p.CIndex(row/p.M, row%p.M, 0) }

// expectedRow computes one row of all C.
func (p GEMMProblem) expectedRow(t GEMMTensors, row int) Expected {
	batch, i := row/p.M, row%p.M
	e := p.rowProduct(t, batch, i)
	for column := range p.N {
		e.Values[column], e.Magnitudes[column] = p.fromProduct(t, batch, i, column, e.Values[column], e.Magnitudes[column])
	}
	return e
}

// expectedElement computes one element of C, and its magnitude.
func (p GEMMProblem) expectedElement(t GEMMTensors, batch, row, column int) (value, magnitude float64) {
	sum, a, b := 0.0, p.a(), p.b()
	for k := range p.depth() {
		v := float64(t.A[a.index(batch, row, k, p.TransA)]) * float64(t.B[b.index(batch, k, column, p.TransB)])
		sum, magnitude = sum+v, magnitude+math.Abs(v)
	}
	return p.fromProduct(t, batch, row, column, sum, magnitude)
}

// fromProduct returns an element of C from that of op(A) * op(B).
func (p GEMMProblem) fromProduct(t GEMMTensors, batch, row, column int, sum, magnitude float64) (value, of float64) {
	alpha, beta := float64(p.alpha()), float64(p.beta())
	sum, magnitude = alpha*sum, math.Abs(alpha)*magnitude
	if beta != 0 {
		v := beta * float64(t.C[p.CIndex(batch, row, column)])
		sum, magnitude = sum+v, magnitude+math.Abs(v)
	}
	if p.Bias != NoBias {
		at := column
		if p.Bias == RowBias {
			at = row
		}
		v := float64(t.Bias[at])
		sum, magnitude = sum+v, magnitude+math.Abs(v)
	}
	return p.Activation.Apply(sum), p.Activation.magnitude(magnitude)
}

// rowProduct returns one row of op(A) * op(B).
func (p GEMMProblem) rowProduct(t GEMMTensors, batch, row int) Expected {
	e := newExpected(p.N)
	a, b := p.a(), p.b()
	for k := range p.depth() {
		factor := float64(t.A[a.index(batch, row, k, p.TransA)])
		if !p.TransB {
			daxpy.Add(e.Values, e.Magnitudes, t.B[b.index(batch, k, 0, false):][:p.N], factor)
			continue
		}
		for column := range p.N {
			v := factor * float64(t.B[b.index(batch, k, column, p.TransB)])
			e.Values[column] += v
			e.Magnitudes[column] += math.Abs(v)
		}
	}
	return e
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
	if t.C != nil || p.beta() != 0 {
		lengths = append(lengths, length{"C", len(t.C), p.CLen()})
	}
	return checkAll(lengths...)
}
