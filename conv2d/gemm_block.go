//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

var (
	//go:embed kernels/gemm_block.comp
	gemmBlock string
	//go:embed kernels/gemm_reduce.comp
	gemmReduce string
	//go:embed kernels/gemm_pack.comp
	gemmPack string
	//go:embed kernels/gemm_turn.comp
	gemmTurn string
)

// gemmBlockAlgorithm is the matrix product by tiles in shared memory, for every
// problem.
var gemmBlockAlgorithm = newAlgorithm("gemm_block", gemmBlockCandidates, gemmBlockSequence, sumTolerance[GEMMProblem])

// BlockParams are the parameters of gemm_block.
type BlockParams struct {
	BK    int `json:"bk"`     // elements of K in a step
	BM    int `json:"bm"`     // rows of the tile of C of a group
	BN    int `json:"bn"`     // columns of that tile
	Fused int `json:"fused"`  // 0: a second dispatch adds the parts; else the last group of a tile reads Fused parts at a time
	PackA int `json:"pack_a"` // 1: A is copied first, transposed, padded, and cut into tiles of BM columns
	PackB int `json:"pack_b"` // 1: B is copied first, padded

	// Slices is the number of invocations that share the elements of C of an
	// invocation, each with a part of every step (slice-K): 1, 2, 4 or 8. 0 means 1.
	Slices int `json:"slices,omitempty"`

	Split  int `json:"split"`  // parts of K that are summed up side by side, then added (split-K)
	Stages int `json:"stages"` // tiles in shared memory, 1 or 2
	TM     int `json:"tm"`     // rows of C of an invocation
	TN     int `json:"tn"`     // columns of C of an invocation
}

// String returns the parameters as text.
func (p BlockParams) String() string { return paramsText(p) }

// vector is 4 where whole vectors can be read, else 1.
func (s stored) vector() int {
	if s.ld%4 == 0 && s.columns%4 == 0 && s.stride%4 == 0 {
		return 4
	}
	return 1
}

func roundUp(v, step int) int { return ceilDiv(v, step) * step }

// blockPlan is the parameters applied to a problem.
type blockPlan struct {
	GEMMProblem
	shape        blockShape
	split, fused int // fused: 0 without parts
	packA, packB bool

	mPad, nPad, kPad int // full pieces
	offsetB, offsetP int // of packed B and of partial sums in the workspace
	workspace        int
	semaphores       int
}

// semaphoreBytes is what a group needs to find out whether it ends last: a word of
// shared memory, aligned as vectors are.
const semaphoreBytes = 16

// maxFused is the most parts at a time that leave registers for other values.
const maxFused = 8

func newBlockPlan(p GEMMProblem, params BlockParams, on device) (blockPlan, error) {
	b := blockPlan{GEMMProblem: p, split: params.Split, fused: params.Fused, packA: params.PackA == 1, packB: params.PackB == 1}
	b.shape = blockShape{params.BM, params.BN, params.BK, params.TM, params.TN, params.Stages, orOne(params.Slices)}
	if err := b.shape.validate(on); err != nil {
		return b, err
	}
	if b.split < 1 || b.split > 1024 {
		return b, fmt.Errorf("conv2d: gemm_block: split is %d", b.split)
	}
	if b.fused < 0 || b.fused > maxFused {
		return b, fmt.Errorf("conv2d: gemm_block: fused is %d, must be from 0 to %d", b.fused, maxFused)
	}
	if p.depth() == 0 { // nothing to pack and to split
		b.packA, b.packB, b.split = false, false, 1
	}
	if b.split == 1 {
		b.fused = 0
	}
	if err := checkLoops(on, b.shape.tm*b.shape.tn, ceilDiv(p.depth(), b.shape.bk*b.split), b.shape.bk/b.shape.slices, b.shape.copies()); err != nil {
		return b, err
	}
	if b.fused > 0 && b.shape.sharedBytes()+semaphoreBytes > on.sharedBytes {
		return b, fmt.Errorf("conv2d: gemm_block: a block %+v leaves no shared memory to add up its parts: take fused=0", b.shape)
	}
	b.mPad, b.nPad, b.kPad = roundUp(p.M, b.shape.bm), roundUp(p.N, b.shape.bn), roundUp(p.K, b.shape.bk)
	size := int64(0)
	if b.packA {
		size = product(b.kPad, b.mPad, p.a().matrices())
	}
	if b.packB {
		b.offsetB = int(min(size, maxElements))
		size = saturatedSum(size, product(b.kPad, b.nPad, p.b().matrices()))
	}
	b.offsetP = int(min(size, maxElements))
	switch {
	case b.fused > 0:
		size = saturatedSum(size, product(orOne(p.Batch), b.split, b.mPad, b.nPad))
		b.semaphores = b.mPad / b.shape.bm * (b.nPad / b.shape.bn) * orOne(p.Batch)
	case b.split > 1:
		size = saturatedSum(size, product(orOne(p.Batch), b.split, p.M, p.N))
	}
	if size > maxElements {
		return b, fmt.Errorf("conv2d: gemm_block needs a workspace of more than %d elements for %v", maxElements, p)
	}
	b.workspace = int(size)
	return b, nil
}

// matrices is the number of different matrices in a batch.
func (s stored) matrices() int {
	if s.stride == 0 {
		return 1
	}
	return s.batch
}

// copies is the most vectors that an invocation copies in a step.
func (s blockShape) copies() int { return ceilDiv(s.bk*(s.bm+s.bn)/4, s.invocations()) }

func (s blockShape) validate(on device) error {
	if s.bm < 4 || s.bn < 4 || s.bk < 4 || s.tm < 4 || s.tn < 4 || s.bk%4 != 0 || s.tm%4 != 0 || s.tn%4 != 0 ||
		s.bm%s.tm != 0 || s.bn%s.tn != 0 || s.tm*s.tn > 1024 || !slices.Contains([]int{1, 2, 4, 8}, s.slices) || s.bk%s.slices != 0 || s.tm*s.tn/4%s.slices != 0 || s.stages < 1 || s.stages > 2 || s.bm > 1024 || s.bn > 1024 || s.bk > 1024 {
		return fmt.Errorf("conv2d: gemm_block: there is no block %+v", s)
	}
	if !s.fits(on) {
		return fmt.Errorf("conv2d: gemm_block: a block %+v needs %d invocations and %d bytes of shared memory, the device has %d and %d",
			s, s.invocations(), s.sharedBytes(), on.maxInvocations, on.sharedBytes)
	}
	return nil
}

func gemmBlockSequence(p GEMMProblem, params BlockParams, on device) (kernel.Sequence, error) {
	b, err := newBlockPlan(p, params, on)
	if err != nil {
		return kernel.Sequence{}, err
	}
	r := kernel.Sequence{WorkspaceLen: b.workspace, SemaphoreCount: b.semaphores}
	if b.packA {
		r.Steps = append(r.Steps, b.copyA())
	}
	if b.packB {
		r.Steps = append(r.Steps, packStep(p.b(), kernel.Weights, p.TransB, b.kPad, b.nPad, b.nPad, b.offsetB))
	}
	r.Steps = append(r.Steps, b.block())
	if b.split > 1 && b.fused == 0 {
		r.Steps = append(r.Steps, b.reduce())
	}
	return r, nil
}

// copyA copies A to K x M, tile by tile.
func (b blockPlan) copyA() kernel.Step {
	s := b.a()
	step := packStep(s, kernel.Input, !b.TransA, b.kPad, b.mPad, b.shape.bm, 0)
	if !b.TransA && s.vector() == 4 {
		step.Source = shader.MustSource("gemm_turn", gemmTurn, nil)
		step.Groups = [3]int{ceilDiv(b.kPad, 32), ceilDiv(b.mPad, 128), s.matrices()}
	}
	return step
}

// packStep copies a matrix to height x width elements of the workspace, in tiles of tile
// columns, one behind the other.
func packStep(s stored, from kernel.Role, turn bool, height, width, tile, offset int) kernel.Step {
	return kernel.Step{
		Source: shader.MustSource("gemm_pack", gemmPack, shader.Defines{"TURN": onOff(turn)}),
		Groups: [3]int{ceilDiv(width, 32), ceilDiv(height, 32), s.matrices()},
		Uniforms: kernel.Ints{
			{"rows", s.rows}, {"columns", s.columns}, {"ld", s.ld}, {"stride", s.stride},
			{"height", height}, {"width", width}, {"columnsOfTile", tile}, {"offset", offset}}.Uniforms(),
		Bindings: []kernel.Binding{from.At(0), kernel.Workspace.At(1)},
	}
}

func (b blockPlan) block() kernel.Step {
	s, a, m, c := b.shape, b.a(), b.b(), b.c()
	d := shader.Defines{
		"BM": strconv.Itoa(s.bm), "BN": strconv.Itoa(s.bn), "BK": strconv.Itoa(s.bk),
		"TM": strconv.Itoa(s.tm), "TN": strconv.Itoa(s.tn),
		"STAGES": strconv.Itoa(s.stages), "SLICES": strconv.Itoa(s.slices), "SPLIT": strconv.Itoa(b.split),
		"TRANS_A": onOff(b.TransA), "VECTOR_A": strconv.Itoa(a.vector()),
		"TRANS_B": onOff(b.TransB), "VECTOR_B": strconv.Itoa(m.vector()),
		"EDGE_A": onOff(b.M%s.bm != 0 || b.K%s.bk != 0), "EDGE_B": onOff(b.N%s.bn != 0 || b.K%s.bk != 0),
		"EDGE_C": onOff(b.M%s.bm != 0 || b.N%s.bn != 0), "VECTOR_C": strconv.Itoa(c.vector()),
	}
	from, to := []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1)}, []kernel.Binding{outputBinding}
	lda, ldb, strideA, strideB := a.ld, m.ld, a.stride, m.stride
	gapA := 0
	if b.packA {
		d["TRANS_A"], d["VECTOR_A"], d["EDGE_A"] = "1", "4", "0"
		from[0].Role, lda, strideA = kernel.Workspace, s.bm, a.packedStride(b.kPad*b.mPad)
		gapA = (b.kPad - 1) * s.bm
	}
	if b.packB {
		d["TRANS_B"], d["VECTOR_B"], d["EDGE_B"] = "0", "4", "0"
		from[1].Role, ldb, strideB = kernel.Workspace, b.nPad, m.packedStride(b.kPad*b.nPad)
	}
	if b.split > 1 && b.fused == 0 {
		to = []kernel.Binding{partialBinding}
		d["VECTOR_C"] = strconv.Itoa(stored{columns: b.N, ld: b.M * b.N, stride: b.offsetP}.vector())
	} else {
		from = append(from, b.epilogue(d)...)
	}
	if b.fused > 0 {
		to = append(to, partialBinding, semaphoresBinding)
		d["FUSED"] = strconv.Itoa(b.fused)
	}
	uniforms := kernel.Ints{{"M", b.M}, {"N", b.N}, {"K", b.depth()}, {"lda", lda}, {"ldb", ldb}, {"ldc", c.ld},
		{"strideA", strideA}, {"strideB", strideB}, {"strideC", c.stride},
		{"gapA", gapA}, {"offsetA", 0}, {"offsetB", b.offsetB}, {"offsetPartial", b.offsetP}}.Uniforms()
	return kernel.Step{
		Source:   shader.MustSource(partName(s.name(), b.split, b.fused), gemmBlock, d),
		Groups:   [3]int{ceilDiv(b.N, s.bn), ceilDiv(b.M, s.bm), orOne(b.Batch) * b.split},
		Uniforms: append(uniforms, b.factors()...),
		Bindings: append(from, to...),
	}
}

// packedStride is the distance of packed matrices: none where there is one only.
func (s stored) packedStride(elements int) int {
	if s.matrices() == 1 {
		return 0
	}
	return elements
}

func (s blockShape) name() string {
	name := fmt.Sprintf("gemm_block_%dx%dx%d", s.bm, s.bn, s.bk)
	if s.slices > 1 {
		name += fmt.Sprintf("_slices%d", s.slices)
	}
	return name
}

// partName returns the name of a program that sums up parts of K.
func partName(name string, split, fused int) string {
	if split > 1 {
		name += fmt.Sprintf("_split%d", split)
	}
	if fused > 0 {
		name += "_fused"
	}
	return name
}

// reduce adds up the parts.
func (b blockPlan) reduce() kernel.Step {
	d := shader.Defines{"SPLIT": strconv.Itoa(b.split)}
	bound := append([]kernel.Binding{outputBinding, partialBinding}, b.epilogue(d)...)
	c := b.c()
	return kernel.Step{
		Source: shader.MustSource(fmt.Sprintf("gemm_reduce_split%d", b.split), gemmReduce, d),
		Groups: [3]int{ceilDiv(b.M*b.N, 128), orOne(b.Batch), 1},
		Uniforms: append(kernel.Ints{{"M", b.M}, {"N", b.N}, {"ldc", c.ld}, {"strideC", c.stride}, {"offsetPartial", b.offsetP}}.Uniforms(),
			b.factors()...),
		Bindings: bound,
	}
}

// The bindings of the buffers that the kernels of a product in parts write to.
var (
	outputBinding     = kernel.Output.At(2)
	partialBinding    = kernel.Workspace.At(4)
	semaphoresBinding = kernel.Semaphores.At(5)
)

// epilogue adds the defines of beta, bias and activation, and returns the bindings
// that they need.
func (p GEMMProblem) epilogue(d shader.Defines) []kernel.Binding {
	d["BETA"] = onOff(p.beta() != 0)
	d["BIAS"] = strconv.Itoa(int(p.Bias))
	d["ACTIVATION"] = activations[p.Activation].define
	if p.Bias == NoBias {
		return nil
	}
	return []kernel.Binding{kernel.Bias.At(3)}
}

func (p GEMMProblem) factors() []job.Uniform {
	return []job.Uniform{job.Float("alpha", p.alpha()), job.Float("beta", p.beta())}
}
