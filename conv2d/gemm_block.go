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

// blockPlan is the parameters applied to a problem, without those that have no effect on it.
type blockPlan struct {
	GEMMProblem
	BlockParams

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
	b := blockPlan{GEMMProblem: p, BlockParams: params}
	b.Slices = orOne(b.Slices)
	if err := b.validate(on); err != nil {
		return b, err
	}
	if p.depth() == 0 { // nothing to pack and to split
		b.PackA, b.PackB, b.Split = 0, 0, 1
	}
	if b.Split == 1 {
		b.Fused = 0
	}
	if err := checkLoops(on, b.TM*b.TN, ceilDiv(p.depth(), b.BK*b.Split), b.BK/b.Slices, b.copies()); err != nil {
		return b, err
	}
	if b.Fused > 0 && b.sharedBytes()+semaphoreBytes > on.sharedBytes {
		return b, fmt.Errorf("conv2d: gemm_block: a block %v leaves no shared memory to add up its parts: take fused=0", b.BlockParams)
	}
	b.mPad, b.nPad, b.kPad = roundUp(p.M, b.BM), roundUp(p.N, b.BN), roundUp(p.K, b.BK)
	size := int64(0)
	if b.PackA == 1 {
		size = product(b.kPad, b.mPad, p.a().matrices())
	}
	if b.PackB == 1 {
		b.offsetB = int(min(size, maxElements))
		size = saturatedSum(size, product(b.kPad, b.nPad, p.b().matrices()))
	}
	b.offsetP = int(min(size, maxElements))
	switch {
	case b.Fused > 0:
		size = saturatedSum(size, product(orOne(p.Batch), b.Split, b.mPad, b.nPad))
		b.semaphores = b.mPad / b.BM * (b.nPad / b.BN) * orOne(p.Batch)
	case b.Split > 1:
		size = saturatedSum(size, product(orOne(p.Batch), b.Split, p.M, p.N))
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
func (p BlockParams) copies() int { return ceilDiv(p.BK*(p.BM+p.BN)/4, p.invocations()) }

// validate fails for parameters that the kernel cannot be compiled with. There are Slices.
func (p BlockParams) validate(on device) error {
	switch {
	case p.BM < 4 || p.BN < 4 || p.BK < 4 || p.TM < 4 || p.TN < 4 || p.BK%4 != 0 || p.TM%4 != 0 || p.TN%4 != 0 ||
		p.BM%p.TM != 0 || p.BN%p.TN != 0 || p.TM*p.TN > 1024 || !slices.Contains([]int{1, 2, 4, 8}, p.Slices) || p.BK%p.Slices != 0 || p.TM*p.TN/4%p.Slices != 0 || p.Stages < 1 || p.Stages > 2 || p.BM > 1024 || p.BN > 1024 || p.BK > 1024:
		return fmt.Errorf("conv2d: gemm_block: there is no block %v", p)
	case !p.fits(on):
		return fmt.Errorf("conv2d: gemm_block: a block %v needs %d invocations and %d bytes of shared memory, the device has %d and %d",
			p, p.invocations(), p.sharedBytes(), on.maxInvocations, on.sharedBytes)
	case p.Split < 1 || p.Split > 1024:
		return fmt.Errorf("conv2d: gemm_block: split is %d", p.Split)
	case p.Fused < 0 || p.Fused > maxFused:
		return fmt.Errorf("conv2d: gemm_block: fused is %d, must be from 0 to %d", p.Fused, maxFused)
	}
	return nil
}

func gemmBlockSequence(p GEMMProblem, params BlockParams, on device) (kernel.Sequence, error) {
	b, err := newBlockPlan(p, params, on)
	if err != nil {
		return kernel.Sequence{}, err
	}
	r := kernel.Sequence{WorkspaceLen: b.workspace, SemaphoreCount: b.semaphores}
	if b.PackA == 1 {
		r.Steps = append(r.Steps, b.copyA())
	}
	if b.PackB == 1 {
		r.Steps = append(r.Steps, packStep(p.b(), kernel.Weights, p.TransB, b.kPad, b.nPad, b.nPad, b.offsetB))
	}
	r.Steps = append(r.Steps, b.block())
	if b.Split > 1 && b.Fused == 0 {
		r.Steps = append(r.Steps, b.reduce())
	}
	return r, nil
}

// copyA copies A to K x M, tile by tile.
func (b blockPlan) copyA() kernel.Step {
	s := b.a()
	step := packStep(s, kernel.Input, !b.TransA, b.kPad, b.mPad, b.BM, 0)
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
	a, m, c := b.a(), b.b(), b.c()
	d := defines(map[string]int{
		"BM": b.BM, "BN": b.BN, "BK": b.BK, "TM": b.TM, "TN": b.TN, "STAGES": b.Stages, "SLICES": b.Slices, "SPLIT": b.Split,
		"VECTOR_A": a.vector(), "VECTOR_B": m.vector(), "VECTOR_C": c.vector(),
	})
	d["TRANS_A"], d["TRANS_B"] = onOff(b.TransA), onOff(b.TransB)
	edgeM, edgeN, edgeK := b.M%b.BM != 0, b.N%b.BN != 0, b.K%b.BK != 0
	d["EDGE_A"], d["EDGE_B"], d["EDGE_C"] = onOff(edgeM || edgeK), onOff(edgeN || edgeK), onOff(edgeM || edgeN)
	from, to := []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1)}, []kernel.Binding{outputBinding}
	lda, ldb, strideA, strideB := a.ld, m.ld, a.stride, m.stride
	gapA := 0
	if b.PackA == 1 {
		d["TRANS_A"], d["VECTOR_A"], d["EDGE_A"] = "1", "4", "0"
		from[0].Role, lda, strideA = kernel.Workspace, b.BM, a.packedStride(b.kPad*b.mPad)
		gapA = (b.kPad - 1) * b.BM
	}
	if b.PackB == 1 {
		d["TRANS_B"], d["VECTOR_B"], d["EDGE_B"] = "0", "4", "0"
		from[1].Role, ldb, strideB = kernel.Workspace, b.nPad, m.packedStride(b.kPad*b.nPad)
	}
	if b.Split > 1 && b.Fused == 0 {
		to = []kernel.Binding{partialBinding}
		d["VECTOR_C"] = strconv.Itoa(stored{columns: b.N, ld: b.M * b.N, stride: b.offsetP}.vector())
	} else {
		from = append(from, b.epilogue(d)...)
	}
	if b.Fused > 0 {
		to = append(to, partialBinding, semaphoresBinding)
		d["FUSED"] = strconv.Itoa(b.Fused)
	}
	uniforms := kernel.Ints{{"M", b.M}, {"N", b.N}, {"K", b.depth()}, {"lda", lda}, {"ldb", ldb}, {"ldc", c.ld},
		{"strideA", strideA}, {"strideB", strideB}, {"strideC", c.stride},
		{"gapA", gapA}, {"offsetA", 0}, {"offsetB", b.offsetB}, {"offsetPartial", b.offsetP}}.Uniforms()
	return kernel.Step{
		Source:   shader.MustSource(partName(b.name(), b.Split, b.Fused), gemmBlock, d),
		Groups:   [3]int{ceilDiv(b.N, b.BN), ceilDiv(b.M, b.BM), orOne(b.Batch) * b.Split},
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

func (p BlockParams) name() string {
	name := fmt.Sprintf("gemm_block_%dx%dx%d", p.BM, p.BN, p.BK)
	if p.Slices > 1 {
		name += fmt.Sprintf("_slices%d", p.Slices)
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
	d := shader.Defines{"SPLIT": strconv.Itoa(b.Split)}
	bound := append([]kernel.Binding{outputBinding, partialBinding}, b.epilogue(d)...)
	c := b.c()
	return kernel.Step{
		Source: shader.MustSource(fmt.Sprintf("gemm_reduce_split%d", b.Split), gemmReduce, d),
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
	d["ACTIVATION"] = p.Activation.define()
	if p.Bias == NoBias {
		return nil
	}
	return []kernel.Binding{kernel.Bias.At(3)}
}

func (p GEMMProblem) factors() []job.Uniform {
	return []job.Uniform{job.Float("alpha", p.alpha()), job.Float("beta", p.beta())}
}
