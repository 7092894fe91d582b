//go:build linux

package tune

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/conv2d/internal/parallel"
)

// checker compares results with the reference.
type checker interface {
	elements() int // of a result
	check(got []float32, tolerance float64) conv2d.Report
	coverage() string // what is compared, in words
}

// referenceProducts is the number of products that each processor may compute for a
// reference: a second or two. Beyond it, rows of the result are chosen at random.
// Tests change it.
var referenceProducts int64 = 1 << 30

// sampledRows is the number of those rows.
const sampledRows = 64

// newTestSets makes random inputs and their results: all elements where the CPU can
// compute them in a few seconds. Otherwise some rows are computed, and matrix
// products are projected too, which covers every element.
func newTestSets(space conv2d.SearchSpace, seed uint64) []testSet {
	in := space.RandomTensors(seed)
	if space.Shape().FLOPs()/2 <= referenceProducts*int64(runtime.GOMAXPROCS(0)) {
		return []testSet{{Tensors: in, checker: wholeChecker{space.Reference(in)}}}
	}
	sets := []testSet{{Tensors: in, checker: newRowChecker(space, in, seed)}}
	if p := space.Shape().GEMM; p != nil {
		if set, ok := newProjection(*p, seed); ok {
			sets = append(sets, set)
		}
	}
	return sets
}

// wholeChecker compares every element.
type wholeChecker struct{ conv2d.Expected }

func (c wholeChecker) elements() int { return len(c.Values) }

func (c wholeChecker) coverage() string { return "every element" }

// check is conv2d.Compare, on all processors.
func (c wholeChecker) check(got []float32, tolerance float64) conv2d.Report {
	parts := min(runtime.GOMAXPROCS(0), 1+len(got)/(1<<16))
	reports := make([]conv2d.Report, parts)
	parallel.For(parts, func(i int) {
		from, to := len(got)*i/parts, len(got)*(i+1)/parts
		want := conv2d.Expected{Values: c.Values[from:to], Magnitudes: c.Magnitudes[from:to]}
		reports[i] = conv2d.Compare(got[from:to], want, tolerance)
	})
	all := reports[0]
	for _, r := range reports[1:] {
		all.Append(r)
	}
	return all
}

// rowChecker compares some rows of the result.
type rowChecker struct {
	n    int // elements of the result
	rows []sampledRow
}

// sampledRow is the elements from at on.
type sampledRow struct {
	at   int
	want conv2d.Expected
}

func (c rowChecker) elements() int { return c.n }

func (c rowChecker) coverage() string {
	known := 0
	for _, r := range c.rows {
		known += len(r.want.Values)
	}
	return fmt.Sprintf("%d of %d elements in %d random rows", known, c.n, len(c.rows))
}

func (c rowChecker) check(got []float32, tolerance float64) conv2d.Report {
	var all conv2d.Report
	for _, r := range c.rows {
		part := conv2d.Compare(got[r.at:r.at+len(r.want.Values)], r.want, tolerance)
		if all.Append(part); all.Worst == all.Elements-part.Elements+part.Worst {
			all.Worst = r.at + part.Worst
		}
	}
	return all
}

// newRowChecker computes the first row, the last and others at random.
func newRowChecker(space conv2d.SearchSpace, in kernel.Tensors, seed uint64) rowChecker {
	rows := space.OutputRows()
	random := rand.New(rand.NewPCG(seed, 1))
	chosen := []int{0, rows - 1}
	for len(chosen) < sampledRows {
		chosen = append(chosen, random.IntN(rows))
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	c := rowChecker{n: space.OutputLen(), rows: make([]sampledRow, len(chosen))}
	parallel.For(len(chosen), func(i int) {
		at, want := space.ReferenceRow(in, chosen[i])
		c.rows[i] = sampledRow{at, want}
	})
	return c
}
