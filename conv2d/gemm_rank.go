//go:build linux

package conv2d

// What a large GPU does: elements of C times K in a nanosecond, bytes in a
// nanosecond, nanoseconds for each dispatch with its barrier, and bytes in a nanosecond
// that one group reads alone, when it adds up the parts of its block.
const (
	blockProducts = 25_000
	blockBytes    = 3_000
	blockDispatch = 3_000
	blockTail     = 80
)

// shapeSpeed is the part of blockProducts that a form of gemm_block reaches when the
// GPU is full.
func shapeSpeed(bm, bn, each int) float64 {
	switch area := bm * bn; {
	case area >= 128*128:
		return 1
	case area >= 64*128:
		return 0.95
	case area >= 64*64:
		return 0.9
	case area >= 32*64 && each >= 8*4:
		return 0.75
	case area >= 32*64:
		return 0.6
	case area >= 32*32:
		return 0.4
	}
	return 0.2
}

// groupsAtOnce returns the number of groups of a form that a large GPU runs side by
// side. A group of a large tile fills half a processor, one of a small tile less, and
// one in slices more.
func groupsAtOnce(bm, bn, slices int) int {
	if slices > 1 {
		return blockGroups / 2 * max(1, 2*64*64/(bm*bn*slices))
	}
	return blockGroups * max(1, 64*64/(bm*bn))
}

// expectedNanos estimates the time of a candidate of gemm_block: whole waves of groups, the bytes
// that memory moves, and the dispatches. It serves to order candidates, after measurements on
// an NVIDIA H200 (docs/bench/kernels.md). Other GPUs differ in the numbers more
// than in the order. A search replaces the estimate.
func (p GEMMProblem) expectedNanos(c BlockParams) float64 {
	bm, bn, split := c.BM, c.BN, c.Split
	batch := orOne(p.Batch)
	groups := ceilDiv(p.M, bm) * ceilDiv(p.N, bn) * batch * split
	speed := blockProducts * shapeSpeed(bm, bn, c.TM*c.TN)
	perWave := groupsAtOnce(bm, bn, c.Slices)
	waves := ceilDiv(groups, perWave)
	products := float64(perWave) * float64(bm*bn) * float64(p.K) / float64(split)
	nanos := float64(waves) * products / speed
	if c.PackA == 0 && !p.TransA {
		nanos *= 1.07
	}
	if p.a().vector() == 1 && c.PackA == 0 || p.b().vector() == 1 && c.PackB == 0 {
		nanos *= 1.6
	}
	moved, dispatches := 0.0, 1
	if c.PackA == 1 {
		moved, dispatches = moved+8*float64(p.M)*float64(p.K), dispatches+1
	}
	if c.PackB == 1 {
		moved, dispatches = moved+8*float64(p.N)*float64(p.K), dispatches+1
	}
	parts := 4 * float64(split) * float64(batch) * float64(p.M) * float64(p.N)
	switch {
	case c.Fused > 0: // the last groups of all blocks read at the same time
		nanos += max(parts/blockBytes, 4*float64(split)*float64(bm*bn)/blockTail)
		moved += parts
	case split > 1:
		moved, dispatches = moved+2*parts, dispatches+1
	}
	return nanos + moved/blockBytes + float64(dispatches)*blockDispatch
}
