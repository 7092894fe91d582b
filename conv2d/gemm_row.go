//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/binary"
)

//go:embed kernels/gemm_row.comp
var gemmRow string

// gemmRowAlgorithm is the product of up to maxRows rows, which costs as much as
// reading B: all of the GPU reads. Its parameters:
//
//	lanes   invocations of a group along N, each with four columns
//	slices  invocations of a group along K
//	split   parts of K, each for groups of its own
var gemmRowAlgorithm = algorithm[GEMMProblem]{
	name:       "gemm_row",
	candidates: gemmRowCandidates,
	recipe:     gemmRowRecipe,
	tolerance:  func(p GEMMProblem) float64 { return Tolerance(p.K) },
}

// maxRows is the most rows whose sums an invocation keeps beside each other.
const maxRows = 4

// takesRows reports whether gemm_row computes the problem.
func (p GEMMProblem) takesRows() bool { return p.M <= maxRows && !p.TransB && p.vectorB() == 4 }

func gemmRowCandidates(p GEMMProblem, on device) []Params {
	if !p.takesRows() || on.software && p.K > softwareMaxK {
		return nil
	}
	var list []Params
	for _, lanes := range []int{32, 64, 16} {
		slices := 256 / lanes
		groups := ceilDiv(p.N, 4*lanes) * orOne(p.Batch)
		// Twice as many groups as a large GPU runs at once hide the wait for memory.
		split := max(1, min(maxSplit, ceilDiv(p.K, 4*slices), ceilDiv(2*blockGroups, groups)))
		list = append(list, Params{"lanes": lanes, "slices": slices, "split": split})
		if split > 1 {
			list = append(list, Params{"lanes": lanes, "slices": slices, "split": ceilDiv(split, 2)})
		}
	}
	return list
}

func gemmRowRecipe(p GEMMProblem, params Params, on device) (recipe, error) {
	if !p.takesRows() {
		return recipe{}, fmt.Errorf("conv2d: gemm_row does not compute %v", p)
	}
	var lanes, slices, split int
	if err := readParams(params, map[string]*int{"lanes": &lanes, "slices": &slices, "split": &split}); err != nil {
		return recipe{}, err
	}
	switch {
	case lanes < 1 || slices < 1 || lanes*slices > on.maxInvocations || 16*lanes*slices*p.M > on.sharedBytes || split < 1 || split > 1024:
		return recipe{}, fmt.Errorf("conv2d: gemm_row: there is no group of %v", params)
	case product(orOne(p.Batch), split, p.M, p.N) > maxElements:
		return recipe{}, fmt.Errorf("conv2d: gemm_row needs a workspace of more than %d elements for %v", maxElements, p)
	}
	rows := step{
		source: binary.MustSource("gemm_row", gemmRow, binary.Defines{
			"ROWS": strconv.Itoa(p.M), "LANES": strconv.Itoa(lanes), "SLICES": strconv.Itoa(slices),
			"SPLIT": strconv.Itoa(split), "TRANS_A": onOff(p.TransA),
		}),
		groups: [3]int{ceilDiv(p.N, 4*lanes), 1, orOne(p.Batch) * split},
		uniforms: ints("N", p.N, "K", p.K, "lda", p.a().ld, "ldb", p.b().ld,
			"strideA", p.StrideA, "strideB", p.StrideB),
		bound: []bound{{0, inputRole}, {1, weightsRole}, {4, workspaceRole}},
	}
	sums := blockPlan{GEMMProblem: p, split: split}.reduce()
	r := recipe{steps: []step{rows, sums}, workspace: orOne(p.Batch) * split * p.M * p.N}
	return r, checkGrids(p, on, rows.groups, sums.groups)
}
