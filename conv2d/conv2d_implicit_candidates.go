//go:build linux

package conv2d

// Sizes of tiles. Widths between powers of two make the number of groups a little
// less than a multiple of the GPU's processors.
var (
	implicitHeights = []int{32, 64, 128}
	implicitWidths  = []int{8, 16, 24, 32, 48, 56, 64, 96, 112, 128, 192, 256}
	implicitDepths  = []int{8, 16, 32, 64}
	implicitParts   = [][2]int{{8, 8}, {8, 4}, {4, 8}, {4, 4}}
	implicitSlices  = []int{1, 2, 4}
	implicitSplits  = []int{1, 2, 3, 4, 6, 8, 12, 16, 24}
)

// maxFusedParts is the most parts of a candidate that the last group of a tile adds, one
// after the other: docs/bench/kernels.md.
const maxFusedParts = 4

// maxGathered is the most elements of a tile whose slices exchange all sums at once: 24 KiB
// of shared memory, beside the tiles of a step.
const maxGathered = 2048

// maxImplicitCandidates bounds the candidates that a search compiles, at half a
// second each, and runs.
const maxImplicitCandidates = 14

// implicitCandidates returns the tiles of the shortest estimated times. There are
// none for software drivers, where shared memory and barriers are slow, and none for
// groups of one channel, which have nothing to share.
func implicitCandidates(p Problem, on device) []ImplicitParams {
	if on.software || p.groupCount() > 1 && p.groupC() == 1 {
		return nil
	}
	return implicitTiles(p, on, maxImplicitCandidates)
}

// implicitTiles returns n good ways to cut a convolution into tiles, the one with
// the shortest estimated time first. No two have the same tile, but for the last,
// which are variants of the first: the estimate does not tell variants apart.
func implicitTiles(p Problem, on device, n int) []ImplicitParams {
	best := bestOf(implicitHeights, implicitWidths, func(bm, bn int) timed[ImplicitParams] { return bestTile(p, on, bm, bn) })
	best = best[:min(n, len(best))]
	if len(best) == 0 {
		return nil
	}
	variants := implicitProduct{p, best[0]}.variants(on)
	keep := min(len(best), max(1, n-len(variants)))
	return append(best[:keep:keep], variants...)
}

// bestTile completes a tile: with the best sizes for an invocation, depth, slices and split.
func bestTile(p Problem, on device, bm, bn int) (best timed[ImplicitParams]) {
	for _, part := range implicitParts {
		for _, depth := range implicitDepths {
			for _, parallel := range implicitSlices {
				for _, split := range implicitSplits {
					c := implicitProduct{p, ImplicitParams{
						BM: bm, BN: bn, BK: depth, TM: part[0], TN: part[1], Slices: parallel, Split: split,
					}.completed(p)}
					if c.check(on) == nil && c.tile.invocations() >= 32 {
						best.improve(c.tile, c.cycles())
					}
				}
			}
		}
	}
	return best
}

// completed sets the parameters that follow from the others and from the problem. Two
// buffers help only where an invocation has many elements. The last group of a tile adds a
// few parts sooner than a second dispatch where its invocations have few elements each.
func (t ImplicitParams) completed(p Problem) ImplicitParams {
	t.Buffers, t.TapsFirst, t.Clamp = 1, 0, 1
	if t.Split > 1 && t.Split <= maxFusedParts && t.Slices == 4 {
		t.Fused = 1
	}
	if t.Slices == 4 && t.BM*t.BN <= maxGathered {
		t.Gather = 1
	}
	if t.TM*t.TN >= 64 && t.Slices == 1 {
		t.Buffers = 2
	}
	if p.groupC() >= t.BK || p.R*p.S == 1 {
		t.TapsFirst = 1
	}
	return t
}

// variants returns the tile with one thing changed in each: the number of buffers,
// the elements of an invocation, the depth, how slices add up, unrolling, and branches.
func (c implicitProduct) variants(on device) []ImplicitParams {
	var variants []ImplicitParams
	for _, change := range []func(t *ImplicitParams){
		func(t *ImplicitParams) { t.Buffers = 3 - t.Buffers },
		func(t *ImplicitParams) { t.TM, t.TN = 12-t.TM, 8 },
		func(t *ImplicitParams) { t.BK *= 2 },
		func(t *ImplicitParams) { t.Gather = 1 - t.Gather },
		func(t *ImplicitParams) { t.Unroll = 1 },
		func(t *ImplicitParams) { t.Clamp = 0 },
	} {
		v := c
		if change(&v.tile); v.check(on) == nil {
			variants = append(variants, v.tile)
		}
	}
	return variants
}

// cycles estimates how long the product takes. It serves to order candidates and does
// not predict times.
func (c implicitProduct) cycles() float64 {
	grid := c.grid()
	groups := grid[0] * grid[1] * grid[2]
	adding := float64(ceilDiv(groups, gpuProcessors)*(c.tile.Slices-1)*c.tile.BM*c.tile.BN) / 32
	sum := stepsOfGroups{groups, c.part() + 1, c.tile.resident(), 4 * c.tile.BK * (c.tile.BM + c.tile.BN)}.cycles(c.stepCycles, adding)
	switch {
	case c.tile.Fused == 1:
		sum += gpuTailCycles * float64(c.tile.Split)
	case c.tile.Split > 1:
		sum += gpuDispatchCycles + float64(4*(2*c.tile.Split+1)*c.OutputLen())/gpuMemory
	}
	return sum
}

// resident returns the number of groups that run on one processor at a time.
func (t ImplicitParams) resident() int {
	registers := t.TM*t.TN + 56 // for each invocation
	return max(1, min(gpuRegisters/(registers*t.invocations()), int(gpuSharedBytes)/t.sharedBytes()))
}

// stepCycles returns the cycles of one step with that many groups on a processor.
func (c implicitProduct) stepCycles(resident int) float64 {
	warps := ceilDiv(c.tile.invocations(), 32)
	lanes := float64(c.tile.invocations()) / float64(32*warps)
	work := float64(resident*c.tile.BM*c.tile.BN*c.tile.BK) / gpuLanes / lanes
	busy := float64(resident * warps)
	return max(gpuStepCycles, work/(c.density()*busy/(busy+1.2)))
}

// density returns the share of an invocation's instructions in a step that multiply
// and add. The others read shared memory, and fetch the next step.
func (c implicitProduct) density() float64 {
	t := c.tile
	work := float64(t.TM*t.TN*t.BK) / float64(t.Slices)
	shared := 0.8 * float64((t.TM+t.TN)*t.BK) / float64(t.Slices)
	fetch := 30 // instructions for four pixels
	switch {
	case c.vector():
		fetch = 4
	case t.TapsFirst == 0 && !c.table():
		fetch = 44
	}
	loads := 3*ceilDiv(t.BK*t.BM/4, t.invocations()) + fetch*ceilDiv(t.BK*t.BN/4, t.invocations())
	return work / (work + shared + float64(loads))
}
