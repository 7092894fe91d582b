//go:build linux

package conv2d

import "slices"

// blockShape is a form of gemm_block that was fast on some problem.
type blockShape struct{ bm, bn, bk, tm, tn, stages, slices int }

// blockShapes are the forms, ordered by the work of a group and of its invocations.
var blockShapes = []blockShape{
	{128, 128, 8, 8, 8, 2, 1},
	{64, 128, 8, 8, 8, 1, 1},
	{64, 128, 32, 16, 8, 1, 4},
	{64, 128, 16, 8, 8, 2, 2},
	{128, 64, 16, 8, 8, 1, 1},
	{64, 64, 16, 8, 4, 1, 1},
	{64, 64, 32, 8, 8, 1, 4},
	{64, 64, 32, 8, 4, 1, 2},
	{64, 32, 64, 8, 8, 1, 8},
	{32, 64, 32, 8, 4, 1, 4},
	{32, 64, 32, 8, 4, 2, 4},
	{32, 64, 16, 8, 4, 1, 2},
	{32, 64, 16, 4, 4, 1, 1},
	{32, 32, 32, 4, 4, 1, 4},
	anyShape,
	{16, 64, 16, 4, 4, 1, 1},
	{4, 128, 16, 4, 4, 1, 1},
}

// anyShape is a candidate for every problem.
var anyShape = blockShape{32, 32, 16, 4, 4, 1, 1}

// shortK is the longest K for which a group may copy all of it in one step.
const shortK = 64

// shapes returns the candidates among the forms. The steps of a small product spend
// their time waiting for each other, so a short K is tried in one step too.
func (p GEMMProblem) shapes() []blockShape {
	list := slices.Clone(blockShapes)
	if p.K <= shortK {
		for _, s := range []blockShape{
			{16, 32, 0, 4, 4, 1, 4}, {16, 64, 0, 4, 4, 1, 2}, {32, 32, 0, 4, 4, 1, 2}, {32, 64, 0, 4, 4, 1, 1}, {64, 64, 0, 8, 4, 1, 1},
		} {
			s.bk = roundUp(p.K, 4)
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// lanes are the invocations of a slice.
func (s blockShape) lanes() int { return s.bm / s.tm * (s.bn / s.tn) }

func (s blockShape) invocations() int { return s.slices * s.lanes() }

func (s blockShape) sharedBytes() int {
	n := 4 * s.stages * s.bk * (s.bm + s.bn)
	if s.slices > 1 {
		n += 16 * s.slices * min(s.slices, 4) * s.lanes()
	}
	return n
}

func (s blockShape) fits(on device) bool {
	return s.invocations() <= on.maxInvocations && s.sharedBytes() <= on.sharedBytes
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
	for _, s := range p.shapes() {
		// Blocks mostly beyond the matrix only waste time.
		if !s.fits(on) || s != anyShape && (s.bm >= 2*roundUp(p.M, 4) && s.bm > 4 || s.bn >= 2*roundUp(p.N, 32)) {
			continue
		}
		groups := ceilDiv(p.M, s.bm) * ceilDiv(p.N, s.bn) * orOne(p.Batch)
		most := min(maxSplit, ceilDiv(p.K, 2*s.bk))
		for _, split := range splits(groups, most) {
			list = append(list, p.packings(s.params(split))...)
			if split > 1 && s.sharedBytes()+semaphoreBytes <= on.sharedBytes {
				fused := s.params(split)
				fused.Fused = s.fused()
				list = append(list, p.packings(fused)...)
			}
		}
	}
	p.rank(list)
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
func (s blockShape) fused() int {
	if s.tm*s.tn < 32 {
		return 2
	}
	return 4
}

func (s blockShape) params(split int) BlockParams {
	return BlockParams{BM: s.bm, BN: s.bn, BK: s.bk, TM: s.tm, TN: s.tn, Stages: s.stages, Slices: s.slices, Split: split}
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
