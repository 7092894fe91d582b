//go:build linux

package conv2d

import (
	"context"
	"maps"
	"slices"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Some drivers accept a program binary and compute wrong with it. A plan whose programs
// were loaded from binaries that no plan has checked computes a small problem with them
// first, and compares every element with the CPU. The small problem is of the same
// programs, so that one check is enough for all sizes. Programs that compute large
// problems only are checked with a sample: see sample_check.go.

// checkFLOPs bounds what a check computes on the CPU: some 20 ms, once for a binary.
const checkFLOPs = 1 << 25

// getChecked gets the programs, and compiles those that were loaded if they compute wrong.
// It fails if they still do, because other plans use them.
func (p *part) getChecked(ctx context.Context, programs executor.Programs) error {
	get := func() ([]*cache.Handle, error) {
		err := p.getPrograms(ctx, programs)
		return slices.Collect(maps.Values(p.programs)), err
	}
	return kernelset.Checked(ctx, programs, get, p.releasePrograms, p.check)
}

// check computes a small problem with the programs of the plan, or the problem itself
// where they compute no smaller one.
func (p *part) check(context.Context) error {
	small, sequence, tolerance, ok := p.smaller(p.e.Context().Info())
	if !ok {
		return p.checkSample()
	}
	in := small.randomTensors(1)
	got, err := p.compute(sequence, in, small.output)
	if err != nil {
		return err
	}
	return Compare(got, small.shape.reference(in), tolerance).Err()
}

// compute runs a sequence of the plan's programs once, in poisoned memory of its own.
func (p *part) compute(sequence kernel.Sequence, in kernel.Tensors, outputLen int) (got []float32, err error) {
	ids := map[shader.Key]uint32{}
	for key, handle := range p.programs {
		ids[key] = handle.Program()
	}
	err = p.e.Context().Do(func(gl *glctx.GL) (err error) {
		got, err = kernel.Compute(gl, sequence, ids, in, outputLen)
		return err
	})
	return got, err
}

// smallSides are the extents of small problems: of an output, and of a sum. The last ones
// leave all but the number of images and matrices as it is.
var smallSides = [][2]int{
	{4, 16}, {16, 16}, {64, 16}, {128, 16}, {16, 64}, {64, 64}, {128, 64}, {64, 512}, {128, 512}, {256, 16},
	{maxElements, maxElements},
}

// smaller returns the smallest problem that exactly the programs of the plan compute, if
// there is one.
func (p *part) smaller(info glctx.Info) (t task, s kernel.Sequence, tolerance float64, ok bool) {
	for _, sides := range smallSides {
		t, err := newTask(p.shape.shrink(sides[0], sides[1]), info)
		if err != nil || t.flops > checkFLOPs {
			continue
		}
		if s, tolerance, err := t.build(p.choice); err == nil && p.hasProgramsOf(s) {
			return t, s, tolerance, true
		}
	}
	return task{}, kernel.Sequence{}, 0, false
}

// hasProgramsOf reports whether a sequence has the programs of the plan, all of them.
func (p *part) hasProgramsOf(s kernel.Sequence) bool {
	sources := s.Sources()
	for _, source := range sources {
		if p.programs[source.Key()] == nil {
			return false
		}
	}
	return len(sources) == len(p.programs)
}

// shrink returns the problem with outputs and sums of less than twice outer and depth,
// which have the same rest modulo these: kernels differ for extents that are no multiple
// of their tiles.
func (s Shape) shrink(outer, depth int) Shape {
	if s.Conv2D != nil {
		return s.Conv2D.shrink(outer, depth).Shape()
	}
	return s.GEMM.shrink(outer, depth).Shape()
}

func shrinkExtent(n, side int) int { return min(n, side+n%side) }

func (p Problem) shrink(outer, depth int) Problem {
	p = p.canonical()
	channels, filters := p.C/p.Groups, p.K/p.Groups
	p.N, p.Groups = 1, shrinkExtent(p.Groups, depth)
	p.C, p.K = p.Groups*shrinkExtent(channels, depth), p.Groups*shrinkExtent(filters, outer)
	p.H = max(shrinkExtent(p.H, outer), min(p.H, filterSpan(p.R, p.DilationH)))
	p.W = max(shrinkExtent(p.W, outer), min(p.W, filterSpan(p.S, p.DilationW)))
	return p
}

func (p GEMMProblem) shrink(outer, depth int) GEMMProblem {
	p = p.canonical()
	large := p
	p.M, p.N, p.K = shrinkExtent(p.M, outer), shrinkExtent(p.N, outer), shrinkExtent(p.K, depth)
	p.LDA, p.LDB, p.LDC, p.StrideA, p.StrideB, p.StrideC = 0, 0, 0, 0, 0, 0
	p.LDA, p.LDB, p.LDC = p.a().shrunkLD(large.a()), p.b().shrunkLD(large.b()), p.c().shrunkLD(large.c())
	p.Batch = min(p.Batch, 2)
	p.StrideA, p.StrideB, p.StrideC = p.a().shrunkStride(large.a()), p.b().shrunkStride(large.b()), p.c().shrunkStride(large.c())
	return p
}

// gapSide keeps the alignment of rows and matrices.
const gapSide = 64

// shrunkLD returns the elements from row to row of a smaller matrix.
func (s stored) shrunkLD(large stored) int {
	if large.ld == large.columns {
		return 0
	}
	return roundUp(s.columns, gapSide) + large.ld%gapSide
}

// shrunkStride returns the elements from matrix to matrix of smaller ones.
func (s stored) shrunkStride(large stored) int {
	if large.batch == 1 || large.stride == 0 {
		return 0
	}
	return roundUp(int(s.len()), gapSide) + large.stride%gapSide
}
