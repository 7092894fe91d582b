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
			list = append(list, SkinnyParams{Rows: min(s.rows, p.M), Lanes: s.lanes, Slices: s.slices, Split: 1, Fused: 1,
				Ahead: min(maxSkinnyAhead, ceilDiv(p.K, s.slices))})
		}
	}
	if p.M > maxRows {
		return distinct(list)
	}
	add := func(lanes, slices, ahead, groups, fused int) {
		r := skinnyPlan{p, SkinnyParams{Rows: p.M, Lanes: lanes, Slices: slices, Ahead: ahead, Fused: fused}}
		r.Split = r.parts(groups)
		if r.fits(on) {
			list = append(list, r.SkinnyParams)
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

// skinnyPlan is the parameters applied to a problem, with their defaults.
type skinnyPlan struct {
	GEMMProblem
	SkinnyParams
}

// parts returns the parts of K for about groups groups, such that every part but the
// last takes whole rounds of ahead rows for each slice.
func (r skinnyPlan) parts(groups int) int {
	rounds := ceilDiv(r.K, r.Ahead*r.Slices)
	parts := min(maxSplit, rounds, max(1, groups/(ceilDiv(r.N, 4*r.Lanes)*orOne(r.Batch))))
	return ceilDiv(rounds, ceilDiv(rounds, parts))
}

// fits reports whether the device can start groups of this kind.
func (r skinnyPlan) fits(on device) bool {
	return r.Rows >= 1 && r.Rows <= maxRows && r.Lanes >= 1 && r.Slices >= 1 && r.Lanes*r.Slices <= on.maxInvocations &&
		16*r.Lanes*r.Slices*r.Rows+semaphoreBytes <= on.sharedBytes
}

func newSkinnyPlan(p GEMMProblem, params SkinnyParams, on device) (skinnyPlan, error) {
	r := skinnyPlan{p, params}
	r.Rows, r.Ahead = cmp.Or(r.Rows, p.M), cmp.Or(r.Ahead, skinnyAhead)
	if !p.takesSkinny() {
		return r, fmt.Errorf("conv2d: gemm_row does not compute %v", p)
	}
	switch {
	case !r.fits(on) || r.Split < 1 || r.Split > 1024 || r.Ahead < 1 || r.Ahead > maxSkinnyAhead || r.Fused > maxFused:
		return r, fmt.Errorf("conv2d: gemm_row: there is no group of %v", params)
	case product(orOne(p.Batch), r.Split, p.M, p.N) > maxElements:
		return r, fmt.Errorf("conv2d: gemm_row needs a workspace of more than %d elements for %v", maxElements, p)
	}
	return r, checkLoops(on, 4*r.Rows, ceilDiv(r.depth(), r.Split*r.Slices*r.Ahead), 0, r.Ahead)
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
	if r.Fused == 0 {
		made.Steps = append(made.Steps, blockPlan{GEMMProblem: p, BlockParams: BlockParams{Split: r.Split}}.reduce())
	} else if r.Split > 1 {
		made.SemaphoreCount = sums.Groups[0] * sums.Groups[1] * orOne(p.Batch)
	}
	if made.Uses(kernel.Workspace) {
		made.WorkspaceLen = orOne(p.Batch) * r.Split * p.M * p.N
	}
	return made, nil
}

// sums is the product, to its end where it is fused.
func (r skinnyPlan) sums() kernel.Step {
	c := r.c()
	d := shader.Defines{
		"ROWS": strconv.Itoa(r.Rows), "EDGE_M": onOff(r.M%r.Rows != 0), "LANES": strconv.Itoa(r.Lanes), "SLICES": strconv.Itoa(r.Slices),
		"SPLIT": strconv.Itoa(r.Split), "AHEAD": strconv.Itoa(r.Ahead), "TRANS_A": onOff(r.TransA),
	}
	bound := []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1)}
	if r.Fused > 0 {
		d["FUSED"], d["VECTOR_C"] = strconv.Itoa(r.Fused), strconv.Itoa(c.vector())
		bound = append(append(bound, outputBinding), r.epilogue(d)...)
	}
	if r.Fused == 0 || r.Split > 1 {
		bound = append(bound, partialBinding)
	}
	if r.Fused > 0 && r.Split > 1 {
		bound = append(bound, semaphoresBinding)
	}
	uniforms := kernel.Ints{{"M", r.M}, {"N", r.N}, {"K", r.depth()}, {"lda", r.a().ld}, {"ldb", r.b().ld}, {"ldc", c.ld},
		{"strideA", r.StrideA}, {"strideB", r.StrideB}, {"strideC", c.stride}}.Uniforms()
	return kernel.Step{
		Source:   shader.MustSource(partName("gemm_row", r.Split, r.Fused), gemmSkinny, d),
		Groups:   [3]int{ceilDiv(r.N, 4*r.Lanes), ceilDiv(r.M, r.Rows), orOne(r.Batch) * r.Split},
		Uniforms: append(uniforms, r.factors()...),
		Bindings: bound,
	}
}
