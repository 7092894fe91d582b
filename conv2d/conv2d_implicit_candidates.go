//go:build linux

package conv2d

import (
	"cmp"
	"slices"
)

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
	return paramsOf(implicitProducts(p, on, maxImplicitCandidates))
}

func paramsOf(products []implicitProduct) []ImplicitParams {
	params := make([]ImplicitParams, 0, len(products))
	for _, c := range products {
		params = append(params, c.tile)
	}
	return params
}

// implicitProducts returns n good ways to cut a convolution into tiles, the one with
// the shortest estimated time first. No two have the same tile, but for the last,
// which are variants of the first: the estimate does not tell variants apart.
func implicitProducts(p Problem, on device, n int) []implicitProduct {
	best := bestProducts(p, on)
	best = best[:min(n, len(best))]
	if len(best) == 0 {
		return nil
	}
	variants := best[0].variants(on)
	keep := min(len(best), max(1, n-len(variants)))
	return append(best[:keep:keep], variants...)
}

// bestProducts returns the best sizes for an invocation, depths, slices and splits of
// each tile, in the order of their estimated times.
func bestProducts(p Problem, on device) []implicitProduct {
	var all []timedProduct
	for _, bm := range implicitHeights {
		for _, bn := range implicitWidths {
			if c := bestProduct(p, on, bm, bn); c.cycles > 0 {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b timedProduct) int { return cmp.Compare(a.cycles, b.cycles) })
	products := make([]implicitProduct, len(all))
	for i, c := range all {
		products[i] = c.implicitProduct
	}
	return products
}

type timedProduct struct {
	implicitProduct
	cycles float64 // 0: there is none
}

// bestProduct completes a tile.
func bestProduct(p Problem, on device, bm, bn int) (best timedProduct) {
	for _, part := range implicitParts {
		for _, depth := range implicitDepths {
			for _, parallel := range implicitSlices {
				for _, split := range implicitSplits {
					best.improve(on, implicitProduct{p, ImplicitParams{
						BM: bm, BN: bn, BK: depth, TM: part[0], TN: part[1], Slices: parallel, Split: split,
					}.completed(p)})
				}
			}
		}
	}
	return best
}

// improve replaces best by a product that is possible and faster.
func (best *timedProduct) improve(on device, c implicitProduct) {
	if c.check(on) != nil || c.tile.invocations() < 32 {
		return
	}
	if cycles := c.cycles(); best.cycles == 0 || cycles < best.cycles {
		*best = timedProduct{c, cycles}
	}
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

// variants returns the product with one thing changed in each: the number of buffers,
// the elements of an invocation, the depth, how slices add up, unrolling, and branches.
func (c implicitProduct) variants(on device) []implicitProduct {
	var variants []implicitProduct
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
			variants = append(variants, v)
		}
	}
	return variants
}

// What the estimate takes a GPU to be: an NVIDIA H200. The latency of a step and
// the shares below were fitted to matrix products measured there.
const (
	gpuProcessors     = 132
	gpuLanes          = 128.0  // multiply-adds in a cycle, each processor
	gpuSharedBytes    = 200e3  // each processor
	gpuRegisters      = 65536  // each processor
	gpuTraffic        = 3000.0 // bytes from the second-level cache in a cycle, all processors
	gpuMemory         = 2500.0 // bytes from and to memory in a cycle
	gpuDispatchCycles = 6000.0
	gpuGroupCycles    = 1500.0 // before the first step and after the last
	gpuTailCycles     = 600.0  // to read a part of a sum back
	gpuStepCycles     = 700.0  // the least that a step takes: its loads have to arrive
)

// cycles estimates how long the product takes. It serves to order candidates and does
// not predict times.
func (c implicitProduct) cycles() float64 {
	grid := c.grid()
	groups := grid[0] * grid[1] * grid[2]
	rounds := ceilDiv(groups, gpuProcessors)
	resident := min(rounds, c.tile.resident())
	perGroup := float64(c.part() + 1)
	sum := float64(rounds/resident) * (gpuGroupCycles + perGroup*c.stepCycles(resident))
	if rest := rounds % resident; rest > 0 {
		sum += gpuGroupCycles + perGroup*c.stepCycles(rest)
	}
	sum += float64(rounds*(c.tile.Slices-1)*c.tile.BM*c.tile.BN) / 32
	traffic := float64(groups) * perGroup * float64(4*c.tile.BK*(c.tile.BM+c.tile.BN)) / gpuTraffic
	sum = max(sum+traffic/4, traffic) // most of it overlaps
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
