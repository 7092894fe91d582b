//go:build linux

package tune

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/conv2d/internal/parallel"
)

// projection checks a matrix product of whole numbers without computing it. The
// numbers are so small that every sum is exact in float32, in whatever order it is
// made. So the product C of a right kernel is exact, and with a vector x of random
// whole numbers
//
//	C x = alpha * A (B x) + beta * C0 x + bias
//
// holds exactly, row by row, which takes M*N operations to check instead of M*N*K
// (R. Freivalds, 1977). A row with wrong elements passes for one x in about 65,536;
// there are two.
type projection struct {
	p      conv2d.GEMMProblem
	before []float32 // C0, nil where it does not matter
	x      [projections][]float64
	want   [projections][]float64 // by row of all products
}

const (
	projections = 2
	maxProject  = 1 << 16 // the numbers of x
	exactFloat  = 1 << 24 // whole numbers up to here are exact in float32
	exactDouble = 1 << 53
)

// newProjection makes a set of whole numbers. There is none for an activation, which
// hides the sums, and for factors that are not quarters.
func newProjection(p conv2d.GEMMProblem, seed uint64) (testSet, bool) {
	largest, ok := largestWhole(p)
	// Sums in C x are smaller than this times the largest number in x.
	bound := float64(p.K) * float64(p.N) * float64(largest*largest+1) * (math.Abs(float64(p.Factors.Alpha())) + math.Abs(float64(p.Factors.Beta())) + 1)
	most := math.Min(maxProject, exactDouble/(4*bound))
	if !ok || p.Activation != conv2d.None || most < 1024 {
		return testSet{}, false
	}
	in := kernel.Tensors{Input: whole(p.ALen(), largest, seed), Weights: whole(p.BLen(), largest, seed+1), Bias: whole(p.BiasLen(), largest, seed+2)}
	if p.Factors.Beta() != 0 || p.CLen() != batchOf(p)*p.M*p.N {
		in.Output = whole(p.CLen(), largest, seed+3)
	}
	random := rand.New(rand.NewPCG(seed, 2))
	c := &projection{p: p, before: in.Output}
	for i := range c.x {
		c.x[i] = make([]float64, p.N)
		for k := range c.x[i] {
			c.x[i][k] = float64(1 + random.IntN(int(most)))
		}
		c.want[i] = project(p, in, c.x[i])
	}
	return testSet{Tensors: in, checker: c}, true
}

// whole returns n random whole numbers from -largest to largest.
func whole(n, largest int, seed uint64) []float32 {
	values := conv2d.RandomValues(n, seed)
	for i, v := range values {
		values[i] = float32(int(float64(v+0.5)*float64(2*largest+1)) - largest)
	}
	return values
}

func batchOf(p conv2d.GEMMProblem) int { return cmp.Or(p.Batch, 1) }

// largestWhole returns the largest number that the matrices may have for every sum to
// be exact, and whether there is one.
func largestWhole(p conv2d.GEMMProblem) (int, bool) {
	quarters := 1.0
	for _, v := range []float64{float64(p.Factors.Alpha()), float64(p.Factors.Beta())} {
		if math.Abs(v) > 4 || 4*v != math.Trunc(4*v) {
			return 0, false
		}
	}
	if p.Factors.Alpha() != 1 || p.Factors.Beta() != 0 || p.Bias != conv2d.NoBias {
		quarters = 4 * 16
	}
	for _, largest := range []int{4, 2, 1} {
		if float64(p.K*largest*largest)*quarters < exactFloat {
			return largest, true
		}
	}
	return 0, false
}

// project returns C x for the C that a right kernel computes.
func project(p conv2d.GEMMProblem, in kernel.Tensors, x []float64) []float64 {
	bx := projectB(p, in.Weights, x)
	total := 0.0
	for _, v := range x {
		total += v
	}
	want := make([]float64, batchOf(p)*p.M)
	parallel.For(len(want), func(row int) {
		batch, i := row/p.M, row%p.M
		sum := 0.0
		at, step := p.AIndex(batch, i, 0), p.AIndex(0, 0, 1)
		for k, v := range bx[batch] {
			sum += v * float64(in.Input[at+k*step])
		}
		sum *= float64(p.Factors.Alpha())
		for j, v := range x {
			if p.Factors.Beta() != 0 {
				sum += float64(p.Factors.Beta()) * v * float64(in.Output[p.CIndex(batch, i, j)])
			}
			if p.Bias == conv2d.ColumnBias {
				sum += v * float64(in.Bias[j])
			}
		}
		if p.Bias == conv2d.RowBias {
			sum += total * float64(in.Bias[i])
		}
		want[row] = sum
	})
	return want
}

// projectB returns op(B) x of each matrix of the batch.
func projectB(p conv2d.GEMMProblem, b []float32, x []float64) [][]float64 {
	products := make([][]float64, batchOf(p))
	for batch := range products {
		bx := make([]float64, p.K)
		parallel.For(p.K, func(k int) {
			at, step := p.BIndex(batch, k, 0), p.BIndex(0, 0, 1)
			for j, v := range x {
				bx[k] += v * float64(b[at+j*step])
			}
		})
		products[batch] = bx
	}
	return products
}

func (c *projection) elements() int { return c.p.CLen() }

func (c *projection) coverage() string {
	return fmt.Sprintf("all %d elements by %d random projections of an exact product", c.p.CLen(), projections)
}

// check counts a row that is wrong as one wrong element.
func (c *projection) check(got []float32, tolerance float64) conv2d.Report {
	wrong := make([]bool, len(c.want[0]))
	start := func(row int) int { return c.p.CIndex(row/c.p.M, row%c.p.M, 0) }
	parallel.For(len(wrong), func(row int) { wrong[row] = !c.rightRow(got, row, start(row)) })
	r := conv2d.Report{Elements: len(got), Tolerance: tolerance}
	if first := slices.Index(wrong, true); first >= 0 {
		r.Worst = start(first)
		r.MaxError, r.Got, r.Want = math.MaxFloat64, got[r.Worst], math.NaN()
	}
	for _, is := range wrong {
		if is {
			r.Wrong++
		}
	}
	return r
}

// rightRow reports whether the row from at on, and the gap behind it, are right.
func (c *projection) rightRow(got []float32, row, at int) bool {
	line := got[at:][:c.p.N]
	for i, x := range c.x {
		sum := 0.0
		for k, v := range x {
			sum += v * float64(line[k])
		}
		if sum != c.want[i][row] {
			return false
		}
	}
	end := at + c.p.N
	gap := got[end:min(at+c.p.CIndex(0, 1, 0), len(got))]
	return c.before == nil || slices.Equal(gap, c.before[end:][:len(gap)])
}
