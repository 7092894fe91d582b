//go:build linux

package conv2d

import (
	"fmt"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// checker compares results with what they have to be.
type checker interface {
	elements() int // of a result
	check(got []float32, tolerance float64) Report
	coverage() string // what is compared, for people
}

// referenceProducts is how many products each processor may compute for a
// reference: a second or two. Beyond it, rows of the result are chosen at random.
// Tests change it.
var referenceProducts int64 = 1 << 30

// sampledRows is how many rows.
const sampledRows = 64

// testSetsOf makes random inputs and knows what comes out: all of it where the CPU can
// compute that in a few seconds. Otherwise some rows are computed, and matrix
// products are projected besides, which sees every element.
func testSetsOf(t task, seed uint64) []testSet {
	in := kernel.Tensors{
		Input:   RandomValues(t.input, seed),
		Weights: RandomValues(t.weights, seed+1),
	}
	if t.bias > 0 {
		in.Bias = RandomValues(t.bias, seed+2)
	}
	if t.keepsOutput {
		in.Output = RandomValues(t.output, seed+3)
	}
	if t.flops/2 <= referenceProducts*int64(runtime.GOMAXPROCS(0)) {
		return []testSet{{Tensors: in, checker: wholeChecker{t.reference(in)}}}
	}
	sets := []testSet{{Tensors: in, checker: newRowChecker(t, in, seed)}}
	if t.shape.GEMM != nil {
		if p, ok := newProjection(*t.shape.GEMM, seed); ok {
			sets = append(sets, p)
		}
	}
	return sets
}

// reference computes a task on the CPU.
func (t task) reference(in kernel.Tensors) Expected {
	if p := t.shape.Conv2D; p != nil {
		return ReferenceConv2D(*p, in.Input, in.Weights, in.Bias)
	}
	return ReferenceGEMM(*t.shape.GEMM, GEMMTensors{A: in.Input, B: in.Weights, C: in.Output, Bias: in.Bias})
}

// wholeChecker knows every element.
type wholeChecker struct{ Expected }

func (j wholeChecker) elements() int { return len(j.Values) }

func (j wholeChecker) coverage() string { return "every element" }

// check is Compare, on all processors.
func (j wholeChecker) check(got []float32, tolerance float64) Report {
	parts := min(runtime.GOMAXPROCS(0), 1+len(got)/(1<<16))
	reports := make([]Report, parts)
	eachRow(parts, func(i int) {
		from, to := len(got)*i/parts, len(got)*(i+1)/parts
		reports[i] = Compare(got[from:to], Expected{j.Values[from:to], j.Magnitudes[from:to]}, tolerance)
	})
	all := reports[0]
	for _, r := range reports[1:] {
		all.Append(r)
	}
	return all
}

// rowChecker knows some rows of the result.
type rowChecker struct {
	n    int
	rows []sampleRow
}

// sampleRow is the elements from at on.
type sampleRow struct {
	at   int
	want Expected
}

func (j rowChecker) elements() int { return j.n }

func (j rowChecker) coverage() string {
	known := 0
	for _, r := range j.rows {
		known += len(r.want.Values)
	}
	return fmt.Sprintf("%d of %d elements in %d random rows", known, j.n, len(j.rows))
}

func (j rowChecker) check(got []float32, tolerance float64) Report {
	var all Report
	for _, r := range j.rows {
		part := Compare(got[r.at:r.at+len(r.want.Values)], r.want, tolerance)
		if all.Append(part); all.Worst == all.Elements-part.Elements+part.Worst {
			all.Worst = r.at + part.Worst
		}
	}
	return all
}

// newRowChecker computes the first row, the last and others at random.
func newRowChecker(t task, in kernel.Tensors, seed uint64) rowChecker {
	rows, row := t.shape.GEMM.sampleRow, 0
	if p := t.shape.Conv2D; p != nil {
		rows, row = p.sampleRow, p.N*p.K*p.P()
	} else {
		row = orOne(t.shape.GEMM.Batch) * t.shape.GEMM.M
	}
	random := rand.New(rand.NewPCG(seed, 1))
	chosen := []int{0, row - 1}
	for len(chosen) < sampledRows {
		chosen = append(chosen, random.IntN(row))
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	j := rowChecker{n: t.output, rows: make([]sampleRow, len(chosen))}
	eachRow(len(chosen), func(i int) { j.rows[i] = rows(in, chosen[i]) })
	return j
}

// sampleRow computes one row of the output of a convolution.
func (p *Problem) sampleRow(in kernel.Tensors, row int) sampleRow {
	plane, y := row/p.P(), row%p.P()
	line := referenceLine{*p, plane / p.K, plane % p.K, y, in.Input, in.Weights}
	start := 0.0
	if in.Bias != nil {
		start = float64(in.Bias[line.k])
	}
	e := newExpected(p.Q())
	for x := range e.Values {
		sum, magnitude := line.element(x, start)
		e.Values[x], e.Magnitudes[x] = p.Activation.Apply(sum), p.Activation.magnitude(magnitude)
	}
	return sampleRow{row * p.Q(), e}
}

// sampleRow computes one row of a matrix product, as a product with one row.
func (p *GEMMProblem) sampleRow(in kernel.Tensors, row int) sampleRow {
	batch, i := row/p.M, row%p.M
	a, b, c := p.a(), p.b(), p.c()
	at := batch*c.stride + i*c.ld
	t := GEMMTensors{A: make([]float32, p.K), B: in.Weights[batch*b.stride:][:stored{b.rows, b.columns, b.ld, 1, 0}.len()]}
	for k := range t.A {
		t.A[k] = in.Input[batch*a.stride+a.index(i, k, p.TransA)]
	}
	if in.Output != nil {
		t.C = in.Output[at:][:p.N]
	}
	switch p.Bias {
	case RowBias:
		t.Bias = in.Bias[i : i+1]
	case ColumnBias:
		t.Bias = in.Bias
	}
	one := GEMMProblem{
		M: 1, N: p.N, K: p.K, TransB: p.TransB, LDB: p.LDB, Alpha: p.Alpha, Beta: p.Beta, Bias: p.Bias, Activation: p.Activation,
	}
	return sampleRow{at, ReferenceGEMM(one, t)}
}

// projection checks a matrix product of whole numbers without computing it. The
// numbers are so small that every sum is exact in float32, in whatever order it is
// made; so the product C of a right kernel is exact, and with a vector x of random
// whole numbers
//
//	C x = alpha * A (B x) + beta * C0 x + bias
//
// holds exactly, row by row, which takes M*N operations to find out instead of
// M*N*K (R. Freivalds, 1977). A row with wrong elements passes for one x in about
// 65,536; there are two.
type projection struct {
	p      GEMMProblem
	before []float32 // C0, nil where it does not matter
	x      [projections][]float64
	want   [projections][]float64 // by row of all products
	bad    struct {
		sync.Mutex
		n, first int
	}
}

const (
	projections = 2
	maxProject  = 1 << 16 // the numbers of x
	exactFloat  = 1 << 24 // whole numbers up to here are exact in float32
	exactDouble = 1 << 53
)

// newProjection makes a set of whole numbers. There is none for an activation,
// which a projection cannot see through, and for factors that are not quarters.
func newProjection(p GEMMProblem, seed uint64) (testSet, bool) {
	largest, ok := p.wholeNumbers()
	// Sums in C x are smaller than this times the largest number in x.
	bound := float64(p.K) * float64(p.N) * float64(largest*largest+1) * (math.Abs(float64(p.alpha())) + math.Abs(float64(p.Beta)) + 1)
	most := math.Min(maxProject, exactDouble/(4*bound))
	if !ok || p.Activation != None || most < 1024 {
		return testSet{}, false
	}
	random := rand.New(rand.NewPCG(seed, 2))
	whole := func(n int) []float32 {
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(random.IntN(2*largest+1) - largest)
		}
		return values
	}
	in := kernel.Tensors{Input: whole(p.ALen()), Weights: whole(p.BLen()), Bias: whole(p.BiasLen())}
	if p.Beta != 0 || p.CLen() != orOne(p.Batch)*p.M*p.N {
		in.Output = whole(p.CLen())
	}
	j := &projection{p: p, before: in.Output}
	for i := range j.x {
		j.x[i] = make([]float64, p.N)
		for k := range j.x[i] {
			j.x[i][k] = float64(1 + random.IntN(int(most)))
		}
		j.want[i] = p.project(in, j.x[i])
	}
	return testSet{Tensors: in, checker: j}, true
}

// wholeNumbers is the largest number that the matrices may have for every sum to be
// exact, and whether there is one.
func (p GEMMProblem) wholeNumbers() (int, bool) {
	quarters := 1.0
	for _, v := range []float64{float64(p.alpha()), float64(p.Beta)} {
		if math.Abs(v) > 4 || 4*v != math.Trunc(4*v) {
			return 0, false
		}
	}
	if p.alpha() != 1 || p.Beta != 0 || p.Bias != NoBias {
		quarters = 4 * 16
	}
	for _, largest := range []int{4, 2, 1} {
		if float64(p.K*largest*largest)*quarters < exactFloat {
			return largest, true
		}
	}
	return 0, false
}

// project is C x for the C that a right kernel computes.
func (p GEMMProblem) project(in kernel.Tensors, x []float64) []float64 {
	a, b, c := p.a(), p.b(), p.c()
	total := 0.0
	for _, v := range x {
		total += v
	}
	want := make([]float64, orOne(p.Batch)*p.M)
	for batch := range orOne(p.Batch) {
		turned := make([]float64, p.K) // B x
		eachRow(p.K, func(k int) {
			for j, v := range x {
				turned[k] += v * float64(in.Weights[batch*b.stride+b.index(k, j, p.TransB)])
			}
		})
		eachRow(p.M, func(row int) {
			sum := 0.0
			for k, v := range turned {
				sum += v * float64(in.Input[batch*a.stride+a.index(row, k, p.TransA)])
			}
			sum *= float64(p.alpha())
			for j, v := range x {
				if p.Beta != 0 {
					sum += float64(p.Beta) * v * float64(in.Output[batch*c.stride+row*c.ld+j])
				}
				if p.Bias == ColumnBias {
					sum += v * float64(in.Bias[j])
				}
			}
			if p.Bias == RowBias {
				sum += total * float64(in.Bias[row])
			}
			want[batch*p.M+row] = sum
		})
	}
	return want
}

func (j *projection) elements() int { return j.p.CLen() }

func (j *projection) coverage() string {
	return fmt.Sprintf("all %d elements by %d random projections of an exact product", j.p.CLen(), projections)
}

// check counts a row that is wrong as one wrong element.
func (j *projection) check(got []float32, tolerance float64) Report {
	c := j.p.c()
	j.bad.n, j.bad.first = 0, -1
	eachRow(len(j.want[0]), func(row int) {
		at := row/j.p.M*c.stride + row%j.p.M*c.ld
		line := got[at:][:c.columns]
		right := true
		for i, x := range j.x {
			sum := 0.0
			for k, v := range x {
				sum += v * float64(line[k])
			}
			right = right && sum == j.want[i][row]
		}
		if gap := got[at+c.columns : min(at+c.ld, len(got))]; right && j.before != nil {
			right = slices.Equal(gap, j.before[at+c.columns:][:len(gap)])
		}
		if !right {
			j.bad.Lock()
			defer j.bad.Unlock()
			if j.bad.n++; j.bad.first < 0 || at < j.bad.first {
				j.bad.first = at
			}
		}
	})
	r := Report{Elements: len(got), Wrong: j.bad.n, Tolerance: tolerance, Worst: max(j.bad.first, 0)}
	if r.Wrong > 0 {
		r.MaxError, r.Got, r.Want = differentKind, got[r.Worst], math.NaN()
	}
	return r
}
