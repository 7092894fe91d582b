//go:build linux

package conv2d

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels/gemm_skinny.comp
var gemmSkinny string

// gemmRowAlgorithm is the skinny matrix product, or GEMV: a few rows of A, which cost
// as much as reading B, so that the whole GPU reads. It also takes products so small
// that only the latency of memory counts.
var gemmSkinnyAlgorithm = newAlgorithm("gemm_row", gemmSkinnyCandidates, gemmSkinnySequence, sumTolerance[GEMMProblem])

// SkinnyParams are the parameters of gemm_row.
type SkinnyParams struct {
	Ahead  int `json:"ahead,omitempty"` // rows of B that an invocation reads before it uses the first; 0 means 8
	Fused  int `json:"fused"`           // 0: a second dispatch adds the parts; else see BlockParams
	Lanes  int `json:"lanes"`           // invocations of a group along N, each with four columns
	Rows   int `json:"rows,omitempty"`  // rows of C of a group; 0: all of them
	Slices int `json:"slices"`          // invocations of a group along K (slice-K)
	Split  int `json:"split"`           // parts of K, each for groups of its own (split-K)
}

// String returns the parameters as text.
func (p SkinnyParams) String() string { return paramsText(p) }

// maxRows is the most rows of C of an invocation.
const maxRows = 4

// takesSkinny reports whether gemm_row computes the problem.
func (p GEMMProblem) takesSkinny() bool { return !p.TransB && p.b().vector() == 4 }

// smallC is the number of elements of C up to which a GPU has an invocation for every
// four of them at the same time. Up to there, reading B once for several rows gains
// nothing.
const smallC = 1 << 16

// skinnyAhead is the default of Ahead, and mostly the fastest.
const skinnyAhead = 8

func gemmSkinnyCandidates(p GEMMProblem, on device) []SkinnyParams {
	if !p.takesSkinny() || on.software && p.K > softwareMaxK {
		return nil
	}
	var list []SkinnyParams
	if p.K <= shortK && product(orOne(p.Batch), p.M, p.N) <= smallC {
		for _, s := range []struct{ rows, lanes, slices int }{{2, 32, 8}, {1, 32, 4}, {1, 32, 2}, {1, 32, 1}, {2, 32, 4}, {1, 64, 2}, {4, 32, 4}} {
			r := skinnyPlan{GEMMProblem: p, height: min(s.rows, p.M), lanes: s.lanes, slices: s.slices, split: 1, fused: 1}
			r.ahead = min(maxSkinnyAhead, ceilDiv(p.K, s.slices))
			list = append(list, r.params())
		}
	}
	if p.M > maxRows {
		return distinct(list)
	}
	add := func(lanes, slices, ahead, groups, fused int) {
		r := skinnyPlan{GEMMProblem: p, height: p.M, lanes: lanes, slices: slices, ahead: ahead, fused: fused}
		r.split = r.parts(groups)
		if r.fits(on) {
			list = append(list, r.params())
		}
	}
	// Twice as many groups as a large GPU runs at once hide the wait for memory.
	for _, groups := range []int{2 * blockGroups, 4 * blockGroups, blockGroups} {
		for _, lanes := range []int{16, 32, 64, 8} {
			add(lanes, 256/lanes, skinnyAhead, groups, skinnyAhead)
		}
	}
	for _, lanes := range []int{32, 64} {
		add(lanes, 512/lanes, skinnyAhead, blockGroups, skinnyAhead)
		add(lanes, 256/lanes, 2*skinnyAhead, 2*blockGroups, skinnyAhead)
		add(lanes, 256/lanes, skinnyAhead/2, 2*blockGroups, skinnyAhead)
	}
	for _, lanes := range []int{16, 32, 64} {
		add(lanes, 256/lanes, skinnyAhead, 2*blockGroups, 0)
		add(lanes, 256/lanes, skinnyAhead, blockGroups, 0)
	}
	return distinct(list)
}

// distinct drops parameters that are there already.
func distinct(list []SkinnyParams) []SkinnyParams {
	var out []SkinnyParams
	for _, params := range list {
		if !slices.Contains(out, params) {
			out = append(out, params)
		}
	}
	return out
}

// skinnyPlan is the parameters applied to a problem.
type skinnyPlan struct {
	GEMMProblem
	height, lanes, slices, split, ahead, fused int
}

func (r skinnyPlan) params() SkinnyParams {
	return SkinnyParams{Rows: r.height, Lanes: r.lanes, Slices: r.slices, Split: r.split, Ahead: r.ahead, Fused: r.fused}
}

// parts returns the parts of K for about groups groups, such that every part but the
// last takes whole rounds of ahead rows for each slice.
func (r skinnyPlan) parts(groups int) int {
	rounds := ceilDiv(r.K, r.ahead*r.slices)
	parts := min(maxSplit, rounds, max(1, groups/(ceilDiv(r.N, 4*r.lanes)*orOne(r.Batch))))
	return ceilDiv(rounds, ceilDiv(rounds, parts))
}

// fits reports whether the device can start groups of this kind.
func (r skinnyPlan) fits(on device) bool {
	return r.height >= 1 && r.height <= maxRows && r.lanes >= 1 && r.slices >= 1 && r.lanes*r.slices <= on.maxInvocations &&
		16*r.lanes*r.slices*r.height+semaphoreBytes <= on.sharedBytes
}

func newSkinnyPlan(p GEMMProblem, params SkinnyParams, on device) (skinnyPlan, error) {
	r := skinnyPlan{
		GEMMProblem: p, height: cmp.Or(params.Rows, p.M), lanes: params.Lanes, slices: params.Slices,
		split: params.Split, ahead: cmp.Or(params.Ahead, skinnyAhead), fused: params.Fused,
	}
	if !p.takesSkinny() {
		return r, fmt.Errorf("conv2d: gemm_row does not compute %v", p)
	}
	switch {
	case !r.fits(on) || r.split < 1 || r.split > 1024 || r.ahead < 1 || r.ahead > maxSkinnyAhead || r.fused > maxFused:
		return r, fmt.Errorf("conv2d: gemm_row: there is no group of %v", params)
	case product(orOne(p.Batch), r.split, p.M, p.N) > maxElements:
		return r, fmt.Errorf("conv2d: gemm_row needs a workspace of more than %d elements for %v", maxElements, p)
	}
	return r, checkLoops(on, 4*r.height, ceilDiv(r.depth(), r.split*r.slices*r.ahead), 0, r.ahead)
}

// maxSkinnyAhead is the most rows that leave registers for other values.
const maxSkinnyAhead = 32

func gemmSkinnySequence(p GEMMProblem, params SkinnyParams, on device) (kernel.Sequence, error) {
	r, err := newSkinnyPlan(p, params, on)
	if err != nil {
		return kernel.Sequence{}, err
	}
	sums := r.sums()
	made := kernel.Sequence{Steps: []kernel.Step{sums}}
	if r.fused == 0 {
		made.Steps = append(made.Steps, blockPlan{GEMMProblem: p, split: r.split}.reduce())
	} else if r.split > 1 {
		made.SemaphoreCount = sums.Groups[0] * sums.Groups[1] * orOne(p.Batch)
	}
	if made.Uses(kernel.Workspace) {
		made.WorkspaceLen = orOne(p.Batch) * r.split * p.M * p.N
	}
	return made, nil
}

// sums is the product, to its end where it is fused.
func (r skinnyPlan) sums() kernel.Step {
	c := r.c()
	d := shader.Defines{
		"ROWS": strconv.Itoa(r.height), "EDGE_M": onOff(r.M%r.height != 0), "LANES": strconv.Itoa(r.lanes), "SLICES": strconv.Itoa(r.slices),
		"SPLIT": strconv.Itoa(r.split), "AHEAD": strconv.Itoa(r.ahead), "TRANS_A": onOff(r.TransA),
	}
	bound := []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1)}
	if r.fused > 0 {
		d["FUSED"], d["VECTOR_C"] = strconv.Itoa(r.fused), strconv.Itoa(c.vector())
		bound = append(append(bound, outputBinding), r.epilogue(d)...)
	}
	if r.fused == 0 || r.split > 1 {
		bound = append(bound, partialBinding)
	}
	if r.fused > 0 && r.split > 1 {
		bound = append(bound, semaphoresBinding)
	}
	uniforms := kernel.Ints{{"M", r.M}, {"N", r.N}, {"K", r.depth()}, {"lda", r.a().ld}, {"ldb", r.b().ld}, {"ldc", c.ld},
		{"strideA", r.StrideA}, {"strideB", r.StrideB}, {"strideC", c.stride}}.Uniforms()
	return kernel.Step{
		Source:   shader.MustSource(partName("gemm_row", r.split, r.fused), gemmSkinny, d),
		Groups:   [3]int{ceilDiv(r.N, 4*r.lanes), ceilDiv(r.M, r.height), orOne(r.Batch) * r.split},
		Uniforms: append(uniforms, r.factors()...),
		Bindings: bound,
	}
}
