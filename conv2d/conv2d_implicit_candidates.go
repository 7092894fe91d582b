//go:build linux

package conv2d

import (
	"cmp"
	"slices"
)

// implicitShapes are tiles for all kinds of problems: large ones for many pixels,
// small ones with slices where there are too few to fill the GPU.
var implicitShapes = []implicitTile{
	{bm: 128, bn: 128, bk: 8, tm: 8, tn: 8, slices: 1},
	{bm: 128, bn: 128, bk: 16, tm: 8, tn: 8, slices: 1},
	{bm: 128, bn: 256, bk: 8, tm: 8, tn: 16, slices: 1},
	{bm: 256, bn: 128, bk: 8, tm: 16, tn: 8, slices: 1},
	{bm: 128, bn: 64, bk: 16, tm: 8, tn: 8, slices: 1},
	{bm: 128, bn: 64, bk: 8, tm: 8, tn: 4, slices: 1},
	{bm: 64, bn: 256, bk: 8, tm: 8, tn: 8, slices: 1},
	{bm: 64, bn: 128, bk: 8, tm: 8, tn: 8, slices: 1},
	{bm: 64, bn: 128, bk: 16, tm: 8, tn: 8, slices: 1},
	{bm: 64, bn: 128, bk: 16, tm: 8, tn: 4, slices: 1},
	{bm: 64, bn: 64, bk: 8, tm: 8, tn: 4, slices: 1},
	{bm: 64, bn: 64, bk: 16, tm: 8, tn: 4, slices: 1},
	{bm: 64, bn: 64, bk: 16, tm: 8, tn: 8, slices: 2},
	{bm: 64, bn: 64, bk: 16, tm: 8, tn: 8, slices: 4},
	{bm: 64, bn: 64, bk: 16, tm: 4, tn: 4, slices: 1},
	{bm: 64, bn: 56, bk: 16, tm: 8, tn: 4, slices: 2},
	{bm: 64, bn: 32, bk: 16, tm: 8, tn: 4, slices: 1},
	{bm: 64, bn: 32, bk: 16, tm: 8, tn: 4, slices: 2},
	{bm: 64, bn: 32, bk: 32, tm: 8, tn: 4, slices: 4},
	{bm: 32, bn: 256, bk: 8, tm: 8, tn: 8, slices: 1},
	{bm: 32, bn: 128, bk: 16, tm: 8, tn: 4, slices: 1},
	{bm: 32, bn: 64, bk: 16, tm: 4, tn: 4, slices: 1},
	{bm: 32, bn: 64, bk: 16, tm: 4, tn: 8, slices: 4},
	{bm: 32, bn: 32, bk: 16, tm: 4, tn: 4, slices: 2},
	{bm: 32, bn: 32, bk: 32, tm: 4, tn: 4, slices: 4},
}

// implicitSplits are the parts of the reduction that are tried.
var implicitSplits = []int{1, 2, 3, 4, 6, 8, 12, 16, 24}

// maxImplicitCandidates bounds what tuning has to compile and to run.
const maxImplicitCandidates = 20

// implicitCandidates are the tiles of the shortest estimated times. There are
// none for software drivers, where shared memory and barriers are slow.
func implicitCandidates(p Problem, on device) []Params {
	if on.software {
		return nil
	}
	return paramsOf(implicitProducts(p, on, maxImplicitCandidates))
}

// implicitProducts are the best n ways to cut a convolution into tiles, the one
// with the shortest estimated time first.
func implicitProducts(p Problem, on device, n int) []implicitProduct {
	type timed struct {
		implicitProduct
		cycles float64
	}
	var all []timed
	for _, tile := range implicitShapes {
		best := []timed{}
		for _, split := range implicitSplits {
			tile := tile.completed(p)
			tile.split = split
			if c := (implicitProduct{p, tile}); c.check(on) == nil {
				best = append(best, timed{c, c.cycles()})
			}
		}
		slices.SortFunc(best, func(a, b timed) int { return cmp.Compare(a.cycles, b.cycles) })
		all = append(all, best[:min(2, len(best))]...)
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.cycles, b.cycles) })
	products := make([]implicitProduct, 0, n)
	for _, c := range all[:min(n, len(all))] {
		products = append(products, c.implicitProduct)
	}
	return withVariants(products, n)
}

// completed sets what follows from the rest of a tile and from the problem.
func (t implicitTile) completed(p Problem) implicitTile {
	t.buffers, t.unroll = 2, 1
	for _, lanes := range []int{8, 4, 16} {
		if t.lanesFit(lanes) {
			t.lanes = lanes
			break
		}
	}
	if p.groupC() >= t.bk {
		t.tapsFirst = 1
	}
	return t
}

// withVariants puts what no estimate can tell in the place of the last of n
// products: the first ones with one buffer, and not unrolled.
func withVariants(products []implicitProduct, n int) []implicitProduct {
	var variants []implicitProduct
	for _, c := range products[:min(3, len(products))] {
		single, rolled := c, c
		single.tile.buffers = 1
		rolled.tile.unroll = 0
		variants = append(variants, single, rolled)
	}
	keep := min(len(products), n-len(variants))
	return append(products[:keep:keep], variants...)
}

func paramsOf(products []implicitProduct) []Params {
	params := make([]Params, 0, len(products))
	for _, c := range products {
		params = append(params, c.tile.params())
	}
	return params
}

// What the estimate takes a GPU to be: a large one of 2023.
const (
	gpuProcessors     = 132
	gpuLanes          = 128    // multiply-adds in a cycle, each processor
	gpuBytes          = 2500.0 // to and from memory in a cycle, all processors
	gpuDispatchCycles = 4000.0
	gpuWarps          = 32 // at once on a processor, with the registers that these kernels take
)

// cycles estimates how long the product takes. It serves to put candidates into
// an order and is far from a prediction.
func (c implicitProduct) cycles() float64 {
	groups := c.groupCount() * c.tile.split * (c.filtersPadded() / c.tile.bm) * ceilDiv(c.N*c.P()*c.Q(), c.tile.bn)
	rounds := ceilDiv(groups, gpuProcessors)
	group := float64(c.part()+2) * float64(c.tile.bm*c.tile.bn*c.tile.bk) / gpuLanes
	warps := ceilDiv(c.tile.invocations(), 32)
	at := float64(min(rounds*warps, max(gpuWarps, warps)))
	sum := float64(rounds) * group / (c.tile.density() * at / (at + 4))
	if c.tile.split > 1 {
		sum += gpuDispatchCycles + float64(4*(2*c.tile.split+1)*c.OutputLen())/gpuBytes
	}
	return sum
}

// density is the share of an invocation's instructions that multiply and add: a
// product of tm x tn needs tm+tn elements from shared memory.
func (t implicitTile) density() float64 {
	work, loads := float64(t.tm*t.tn), float64(t.tm+t.tn)
	return work / (work + 3*loads)
}
