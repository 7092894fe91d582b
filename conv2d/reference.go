package conv2d

import (
	"math"

	"github.com/shadercache/shadercache/conv2d/internal/daxpy"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
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
	return p.Shape().reference(kernel.Tensors{Input: input, Weights: weights, Bias: bias})
}

// reference computes a valid problem, as ReferenceConv2D and ReferenceGEMM do.
func (s Shape) reference(in kernel.Tensors) Expected {
	p := s.of()
	if err := p.checkTensors(in); err != nil {
		panic(err.Error())
	}
	e := newExpected(p.sizes().output)
	for i, v := range in.Output {
		e.Values[i], e.Magnitudes[i] = float64(v), math.Abs(float64(v))
	}
	parallel.For(p.outputRows(), func(row int) { e.set(p.expectedRow(in, row)) })
	return e
}

// outputRows is the number of rows of the output, of all images and filters.
func (p Problem) outputRows() int { return p.N * p.K * p.P() }

// expectedRow computes one row of the output, the elements from at on.
func (p Problem) expectedRow(in kernel.Tensors, row int) (at int, e Expected) {
	return row * p.Q(), p.line(in, row).outputs()
}

// expectedElement computes the n-th element of the output, and its magnitude.
func (p Problem) expectedElement(in kernel.Tensors, n int) (at int, value, magnitude float64) {
	value, magnitude = p.line(in, n/p.Q()).output(n % p.Q())
	return n, value, magnitude
}

// referenceLine is one row of the output of a convolution.
type referenceLine struct {
	Problem
	n, k, p int
	in      kernel.Tensors
}

func (p Problem) line(in kernel.Tensors, row int) referenceLine {
	plane := row / p.P()
	return referenceLine{p, plane / p.K, plane % p.K, row % p.P(), in}
}

// start is the value that a sum begins with.
func (l referenceLine) start() float64 {
	if l.in.Bias == nil {
		return 0
	}
	return float64(l.in.Bias[l.k])
}

// output is the output in column q, and its magnitude.
func (l referenceLine) output(q int) (value, magnitude float64) {
	sum, magnitude := l.start(), math.Abs(l.start())
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
	return l.Activation.Apply(sum), l.Activation.magnitude(magnitude)
}

// outputs is the outputs of all columns, to the bit: each sum has the same order.
func (l referenceLine) outputs() Expected {
	e, start, across := newExpected(l.Q()), l.start(), orOne(l.StrideW)
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
				add(l.in.Input[((l.n*l.C+firstC+c)*l.H+y)*l.W:][:l.W], l.in.Weights[((l.k*channels+c)*l.R+r)*l.S:][:l.S])
			}
		}
	}
}

// GEMMTensors are the matrices of a product on the host. C has the values from
// before: they matter where the problem has a beta, or gaps in C, and may be nil
// otherwise. Bias is nil where the problem has none.
type GEMMTensors struct{ A, B, C, Bias []float32 }

func (t GEMMTensors) tensors() kernel.Tensors {
	return kernel.Tensors{Input: t.A, Weights: t.B, Bias: t.Bias, Output: t.C}
}

// ReferenceGEMM computes a valid problem on the CPU with float64 accumulation, on
// all processors. Gaps in C keep what t.C has there. It panics where a slice does
// not have the problem's length.
func ReferenceGEMM(p GEMMProblem, t GEMMTensors) Expected { return p.Shape().reference(t.tensors()) }

// outputRows is the number of rows of all C.
func (p GEMMProblem) outputRows() int { return orOne(p.Batch) * p.M }

// expectedRow computes one row of all C, the elements from at on.
func (p GEMMProblem) expectedRow(t kernel.Tensors, row int) (at int, e Expected) {
	batch, i := row/p.M, row%p.M
	e = p.rowProduct(t, batch, i)
	for column := range p.N {
		e.Values[column], e.Magnitudes[column] = p.fromProduct(t, batch, i, column, e.Values[column], e.Magnitudes[column])
	}
	return p.CIndex(batch, i, 0), e
}

// expectedElement computes the n-th element of all C without gaps, and its magnitude. Its index is at.
func (p GEMMProblem) expectedElement(t kernel.Tensors, n int) (at int, value, magnitude float64) {
	batch, row, column := n/p.N/p.M, n/p.N%p.M, n%p.N
	sum, a, b := 0.0, p.a(), p.b()
	for k := range p.depth() {
		v := float64(t.Input[a.index(batch, row, k)]) * float64(t.Weights[b.index(batch, k, column)])
		sum, magnitude = sum+v, magnitude+math.Abs(v)
	}
	value, magnitude = p.fromProduct(t, batch, row, column, sum, magnitude)
	return p.CIndex(batch, row, column), value, magnitude
}

// fromProduct returns an element of C from that of op(A) * op(B).
func (p GEMMProblem) fromProduct(t kernel.Tensors, batch, row, column int, sum, magnitude float64) (value, of float64) {
	alpha, beta := float64(p.alpha()), float64(p.beta())
	sum, magnitude = alpha*sum, math.Abs(alpha)*magnitude
	if beta != 0 {
		v := beta * float64(t.Output[p.CIndex(batch, row, column)])
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
func (p GEMMProblem) rowProduct(t kernel.Tensors, batch, row int) Expected {
	e := newExpected(p.N)
	a, b := p.a(), p.b()
	for k := range p.depth() {
		factor := float64(t.Input[a.index(batch, row, k)])
		if !p.TransB {
			daxpy.Add(e.Values, e.Magnitudes, t.Weights[b.index(batch, k, 0):][:p.N], factor)
			continue
		}
		for column := range p.N {
			v := factor * float64(t.Weights[b.index(batch, k, column)])
			e.Values[column] += v
			e.Magnitudes[column] += math.Abs(v)
		}
	}
	return e
}

// checkTensors compares the lengths of slices with the problem.
func (p Problem) checkTensors(in kernel.Tensors) error {
	lengths := []length{{"input", len(in.Input), p.InputLen()}, {"weights", len(in.Weights), p.WeightsLen()}}
	if in.Bias != nil {
		lengths = append(lengths, length{"bias", len(in.Bias), p.K})
	}
	return checkAll(lengths...)
}

// checkTensors compares the lengths of slices with the problem.
func (p GEMMProblem) checkTensors(t kernel.Tensors) error {
	lengths := []length{{"A", len(t.Input), p.ALen()}, {"B", len(t.Weights), p.BLen()}, {"bias", len(t.Bias), p.BiasLen()}}
	if t.Output != nil || p.beta() != 0 {
		lengths = append(lengths, length{"C", len(t.Output), p.CLen()})
	}
	return checkAll(lengths...)
}
