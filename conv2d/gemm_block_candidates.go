//go:build linux

package conv2d

import (
	"cmp"
	"slices"
)

// block returns the parameters of a form of gemm_block, whose sum has one part.
func block(bm, bn, bk, tm, tn, stages, slices int) BlockParams {
	return BlockParams{BM: bm, BN: bn, BK: bk, TM: tm, TN: tn, Stages: stages, Slices: slices, Split: 1}
}

// blockForms are forms that were fast on some problem, ordered by the work of a group and of
// its invocations.
var blockForms = []BlockParams{
	block(128, 128, 8, 8, 8, 2, 1),
	block(64, 128, 8, 8, 8, 1, 1),
	block(64, 128, 32, 16, 8, 1, 4),
	block(64, 128, 16, 8, 8, 2, 2),
	block(128, 64, 16, 8, 8, 1, 1),
	block(64, 64, 16, 8, 4, 1, 1),
	block(64, 64, 32, 8, 8, 1, 4),
	block(64, 64, 32, 8, 4, 1, 2),
	block(64, 32, 64, 8, 8, 1, 8),
	block(32, 64, 32, 8, 4, 1, 4),
	block(32, 64, 32, 8, 4, 2, 4),
	block(32, 64, 16, 8, 4, 1, 2),
	block(32, 64, 16, 4, 4, 1, 1),
	block(32, 32, 32, 4, 4, 1, 4),
	anyForm,
	block(16, 64, 16, 4, 4, 1, 1),
	block(4, 128, 16, 4, 4, 1, 1),
}

// anyForm is a candidate for every problem.
var anyForm = block(32, 32, 16, 4, 4, 1, 1)

// shortK is the longest K for which a group may copy all of it in one step.
const shortK = 64

// forms returns the candidates among the forms. The steps of a small product spend
// their time waiting for each other, so a short K is tried in one step too.
func (p GEMMProblem) forms() []BlockParams {
	list := slices.Clone(blockForms)
	if bk := roundUp(p.K, 4); p.K <= shortK {
		for _, s := range []BlockParams{
			block(16, 32, bk, 4, 4, 1, 4), block(16, 64, bk, 4, 4, 1, 2), block(32, 32, bk, 4, 4, 1, 2), block(32, 64, bk, 4, 4, 1, 1), block(64, 64, bk, 8, 4, 1, 1),
		} {
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// lanes are the invocations of a slice.
func (p BlockParams) lanes() int { return p.BM / p.TM * (p.BN / p.TN) }

func (p BlockParams) invocations() int { return p.Slices * p.lanes() }

func (p BlockParams) sharedBytes() int {
	n := 4 * p.Stages * p.BK * (p.BM + p.BN)
	if p.Slices > 1 {
		n += 16 * p.Slices * min(p.Slices, 4) * p.lanes()
	}
	return n
}

func (p BlockParams) fits(on device) bool {
	return p.invocations() <= on.maxInvocations && p.sharedBytes() <= on.sharedBytes
}

// blockGroups is the number of groups that fill a large GPU. OpenGL does not report
// the number of its processors.
const blockGroups = 264

// maxSplit is the most parts that K is cut into.
const maxSplit = 32

// softwareMaxK is the longest sum that is computed on a software driver, which ends
// long loops: see maxLoopIterations.
const softwareMaxK = 4096

func gemmBlockCandidates(p GEMMProblem, on device) []BlockParams {
	if on.software && p.K > softwareMaxK {
		return nil
	}
	var list []BlockParams
	for _, form := range p.forms() {
		// Blocks mostly beyond the matrix only waste time.
		if !form.fits(on) || form != anyForm && (form.BM >= 2*roundUp(p.M, 4) && form.BM > 4 || form.BN >= 2*roundUp(p.N, 32)) {
			continue
		}
		groups := ceilDiv(p.M, form.BM) * ceilDiv(p.N, form.BN) * orOne(p.Batch)
		most := min(maxSplit, ceilDiv(p.K, 2*form.BK))
		for _, form.Split = range splits(groups, most) {
			list = append(list, p.packings(form)...)
			if form.Split > 1 && form.sharedBytes()+semaphoreBytes <= on.sharedBytes {
				fused := form
				fused.Fused = form.fused()
				list = append(list, p.packings(fused)...)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b BlockParams) int { return cmp.Compare(p.expectedNanos(a), p.expectedNanos(b)) })
	return list
}

// splits returns the candidates for the parts of K, for a product with groups groups
// where it is not split.
func splits(groups, most int) []int {
	list := []int{1}
	if groups >= 2*blockGroups {
		return list
	}
	best := 1
	for best*2 <= most && groups*best < blockGroups {
		best *= 2
	}
	for _, split := range []int{best / 2, best, best * 2} {
		if split > 1 && split <= most {
			list = append(list, split)
		}
	}
	return list
}

// fused returns how many parts at a time the last group of a tile reads: more where
// the product takes many registers in any case.
func (p BlockParams) fused() int {
	if p.TM*p.TN < 32 {
		return 2
	}
	return 4
}

// packings returns the parameters with the matrices packed in the ways that may help.
func (p GEMMProblem) packings(params BlockParams) []BlockParams {
	list := []BlockParams{params}
	params.PackA = 1
	if !p.TransA && p.N >= 256 && p.M >= 64 || p.a().vector() == 1 && p.N >= 256 {
		list = append(list, params)
	}
	params.PackB = 1
	if p.b().vector() == 1 && p.M >= 256 {
		list = append(list, params)
	}
	return list
}
