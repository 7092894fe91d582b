//go:build linux

package conv2d

// Sizes of blocks.
var (
	fusedHeights = []int{16, 32, 64}
	fusedWidths  = []int{8, 12, 16, 28, 32}
	fusedParts   = [][2]int{{8, 8}, {8, 4}, {4, 4}}
	fusedSplits  = []int{1, 2, 3, 4, 6, 8}
)

// fusedDepth is the channels of a step of every candidate: steps of 4 were slower with most
// blocks (docs/bench/kernels.md), and those of 16 leave large blocks no shared memory.
const fusedDepth = 8

// maxFusedCandidates bounds the blocks that a search compiles and runs.
const maxFusedCandidates = 8

// fusedCandidates returns the blocks of the shortest estimated times, no two of them with
// the same filters and tiles.
func fusedCandidates(p Problem, on device) []FusedParams {
	w := winograd{p, 2}
	if on.software || w.check() != nil || !w.pays() {
		return nil
	}
	best := bestOf(fusedHeights, fusedWidths, func(bm, bn int) timed[FusedParams] { return bestBlock(p, on, bm, bn) })
	return best[:min(len(best), maxFusedCandidates)]
}

// bestBlock completes the filters and tiles of a block.
func bestBlock(p Problem, on device, bm, bn int) (best timed[FusedParams]) {
	for _, part := range fusedParts {
		for _, split := range fusedSplits {
			c := newFused(p, FusedParams{BM: bm, BN: bn, BK: fusedDepth, TM: part[0], TN: part[1], Split: split})
			if c.checkBlock(on) == nil {
				best.improve(c.block, c.cycles(on))
			}
		}
	}
	return best
}

// cycles estimates how long the dispatch takes, as implicitProduct.cycles does.
func (w fusedWinograd) cycles(on device) float64 {
	grid := w.blockGrid()
	bytes := 4 * w.block.BK * (w.frequencies()*w.block.BM + 2*w.tile*w.tile*w.block.BN)
	sum := stepsOfGroups{grid[0] * grid[1] * grid[2], ceilDiv(w.steps(), w.block.Split) + 1, w.resident(on), bytes}.cycles(w.stepCycles, 0)
	if w.block.Split > 1 {
		sum += gpuTailCycles * 2
	}
	return sum
}

// resident returns the number of groups that run on one processor at a time.
func (w fusedWinograd) resident(on device) int {
	t := w.block
	registers := t.TM*t.TN + w.frequencies()*ceilDiv(t.BK*t.BN, w.invocations()) + 56 // for each invocation
	return max(1, min(gpuRegisters/(registers*w.invocations()), int(gpuSharedBytes)/w.sharedBytes(w.passes(on))))
}

// stepCycles returns the cycles of one step with that many groups on a processor.
func (w fusedWinograd) stepCycles(resident int) float64 {
	t := w.block
	warps := float64(resident * ceilDiv(w.invocations(), 32))
	work := float64(resident*w.frequencies()*t.BM*t.BN*t.BK) / gpuLanes
	return max(gpuStepCycles, work/(w.density()*warps/(warps+1.2)))
}

// density returns the share of a group's instructions in a step that multiply and add. The
// others read shared memory, fetch the next step and transform its tiles.
func (w fusedWinograd) density() float64 {
	t := w.block
	work := float64(t.TM * t.TN * t.BK)
	shared := 0.8 * float64((t.TM+t.TN)*t.BK)
	copies := 3 * ceilDiv(t.BK*w.frequencies()*t.BM/4, w.invocations())
	transforms := 8 * float64(w.frequencies()*t.BK*t.BN) / float64(w.invocations())
	return work / (work + shared + float64(copies) + transforms)
}
