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
		return []testSet{{Tensors: in, checker: newWholeChecker(space.Reference(in))}}
	}
	sets := []testSet{{Tensors: in, checker: newRowChecker(space, in, seed)}}
	if p := space.Shape().GEMM; p != nil {
		if set, ok := newProjection(*p, seed); ok {
			sets = append(sets, set)
		}
	}
	return sets
}

// partChecker compares parts of the result.
type partChecker struct {
	n     int // elements of the result
	parts []knownPart
}

// knownPart is the elements from at on.
type knownPart struct {
	at   int
	want conv2d.Expected
}

func (c partChecker) elements() int { return c.n }

func (c partChecker) coverage() string {
	known := 0
	for _, p := range c.parts {
		known += len(p.want.Values)
	}
	if known == c.n {
		return "every element"
	}
	return fmt.Sprintf("%d of %d elements in %d random rows", known, c.n, len(c.parts))
}

// check is conv2d.Compare for each part, on all processors.
func (c partChecker) check(got []float32, tolerance float64) conv2d.Report {
	reports := make([]conv2d.Report, len(c.parts))
	parallel.For(len(c.parts), func(i int) {
		p := c.parts[i]
		reports[i] = conv2d.Compare(got[p.at:p.at+len(p.want.Values)], p.want, tolerance)
	})
	var all conv2d.Report
	for i, r := range reports {
		if all.Append(r); all.Worst == all.Elements-r.Elements+r.Worst {
			all.Worst = c.parts[i].at + r.Worst
		}
	}
	return all
}

// newWholeChecker compares every element.
func newWholeChecker(want conv2d.Expected) partChecker {
	n := len(want.Values)
	c := partChecker{n, make([]knownPart, min(runtime.GOMAXPROCS(0), 1+n/(1<<16)))}
	for i := range c.parts {
		from, to := n*i/len(c.parts), n*(i+1)/len(c.parts)
		c.parts[i] = knownPart{from, conv2d.Expected{Values: want.Values[from:to], Magnitudes: want.Magnitudes[from:to]}}
	}
	return c
}

// newRowChecker computes the first row, the last and others at random.
func newRowChecker(space conv2d.SearchSpace, in kernel.Tensors, seed uint64) partChecker {
	rows := space.OutputRows()
	random := rand.New(rand.NewPCG(seed, 1))
	chosen := []int{0, rows - 1}
	for len(chosen) < sampledRows {
		chosen = append(chosen, random.IntN(rows))
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	c := partChecker{space.OutputLen(), make([]knownPart, len(chosen))}
	parallel.For(len(chosen), func(i int) {
		at, want := space.ReferenceRow(in, chosen[i])
		c.parts[i] = knownPart{at, want}
	})
	return c
}
