//go:build linux

package conv2d

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels/gemm_tiled.comp
var gemmTiled string

// gemmTiledAlgorithm is gemm_tiled.comp: C = act(alpha * A*B) without gaps, the
// textbook's way, on every driver. It has no candidates, because others are ahead
// everywhere: it is for those who ask for it by name, and its programs are the
// built-in gemm_small and the workload startup48.
var gemmTiledAlgorithm = newAlgorithm("gemm_tiled",
	func(GEMMProblem, device) []TiledParams { return nil }, gemmTiledSequence, sumTolerance[GEMMProblem])

// TiledParams are the parameters of gemm_tiled.
type TiledParams struct {
	Depth  int `json:"depth"`   // elements of K in one step through shared memory
	LocalY int `json:"local_y"` // invocations in a group along M
	Tile   int `json:"tile"`    // rows and columns of C for each group, a multiple of 4 and of LocalY
}

// String returns the parameters as text.
func (t TiledParams) String() string { return paramsText(t) }

// The tiles that suit every driver. They need 4, 8 and 16 KB of shared memory and a
// little more, which OpenGL 4.5 guarantees.
var (
	tile32  = TiledParams{Tile: 32, Depth: 16, LocalY: 32}
	tile64  = TiledParams{Tile: 64, Depth: 16, LocalY: 64}
	tile128 = TiledParams{Tile: 128, Depth: 16, LocalY: 32}
)

const (
	// columnsEach is the number of columns of C of an invocation: a vec4.
	columnsEach = 4
	// maxRowsEach is the most rows of C in the registers of an invocation. Compilers
	// unroll the loops over them; reduction depends on it.
	maxRowsEach = 8
)

// group is the number of invocations in a work group.
func (t TiledParams) group() int { return t.Tile / columnsEach * t.LocalY }

// sharedBytes is the shared memory of a group.
func (t TiledParams) sharedBytes() int { return 4 * t.Depth * (2*t.Tile + 1) }

// fit returns t with the depth halved until it fits into the shared memory. It fails
// where even a depth of 1 is too large.
func (t TiledParams) fit(sharedBytes int) (TiledParams, error) {
	fitted := t
	for fitted.Depth > 1 && fitted.sharedBytes() > sharedBytes {
		fitted.Depth /= 2
	}
	if fitted.sharedBytes() > sharedBytes {
		return t, fmt.Errorf("conv2d: a tile of %d needs %d bytes of shared memory, the device has %d",
			t.Tile, fitted.sharedBytes(), sharedBytes)
	}
	return fitted, nil
}

// check fails where a device cannot compute with the tile.
func (t TiledParams) check(on device) error {
	fault := func(format string, args ...any) error { return fmt.Errorf("conv2d: gemm_tiled: "+format, args...) }
	switch {
	case t.Tile < 1 || t.Depth < 1 || t.LocalY < 1:
		return fault("tile, depth and local_y of %q must be at least 1", t)
	case t.Tile%columnsEach != 0 || t.Tile%t.LocalY != 0:
		return fault("tile %d is not a multiple of %d columns and of %d invocations", t.Tile, columnsEach, t.LocalY)
	case t.Tile > maxRowsEach*t.LocalY:
		return fault("tile %d gives an invocation more than %d rows: use more invocations", t.Tile, maxRowsEach)
	case t.group() > on.maxInvocations:
		return fault("tile %d with %d invocations along M makes a group of %d, the device allows %d",
			t.Tile, t.LocalY, t.group(), on.maxInvocations)
	case t.sharedBytes() > on.sharedBytes:
		return fault("%q needs %d bytes of shared memory, the device has %d", t, t.sharedBytes(), on.sharedBytes)
	}
	return nil
}

// reduction counts in elements of K. A step of the depth costs an iteration, the two
// loops that copy into shared memory, and a loop over the depth; the compiler unrolls
// the others.
func (t TiledParams) reduction(k int) reduction {
	copiesA := ceilDiv(t.Tile*t.Depth, t.group())
	copiesB := ceilDiv(t.Tile/columnsEach*t.Depth, t.group())
	steps := maxLoopIterations / (1 + loopCost(copiesA) + loopCost(copiesB) + loopCost(t.Depth))
	return reduction{length: k, step: max(1, steps) * t.Depth}
}

// takesTiles reports whether gemm_tiled computes the problem.
func (p GEMMProblem) takesTiles() bool {
	return p.canonical() == GEMMProblem{M: p.M, N: p.N, K: p.K, Factors: AlphaBeta(p.alpha(), 0), Activation: p.Activation}.canonical()
}

func gemmTiledSequence(p GEMMProblem, t TiledParams, on device) (kernel.Sequence, error) {
	if err := t.check(on); err != nil {
		return kernel.Sequence{}, err
	}
	if !p.takesTiles() {
		return kernel.Sequence{}, fmt.Errorf("conv2d: gemm_tiled computes C = act(alpha * A*B) without gaps, once, and not %v", p)
	}
	sum := t.reduction(p.depth())
	if err := sum.check(1); err != nil {
		return kernel.Sequence{}, err
	}
	var r kernel.Sequence
	source := t.source(p.alpha(), p.Activation)
	for _, part := range sum.spans() {
		r.Steps = append(r.Steps, kernel.Step{
			Source:   source,
			Groups:   [3]int{ceilDiv(p.N, t.Tile), ceilDiv(p.M, t.Tile), 1},
			Uniforms: kernel.Ints{{"M", p.M}, {"N", p.N}, {"K", p.depth()}, {"firstK", part.first}, {"lastK", part.last}}.Uniforms(),
			Bindings: []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1), kernel.Output.At(2)},
		})
	}
	return r, nil
}

// source is the program of a tile. Its name is like gemm_t64_relu_x2, with the depth
// where it is not the usual one.
func (t TiledParams) source(alpha float32, a Activation) *shader.Source {
	depth := ""
	if t.Depth != tile32.Depth {
		depth = fmt.Sprintf("d%d", t.Depth)
	}
	d := paramDefines(t)
	d["ACTIVATION"], d["SCALE"] = a.define(), floatLiteral(alpha)
	return shader.MustSource(fmt.Sprintf("gemm_t%d%s_%v_x%g", t.Tile, depth, a, alpha), gemmTiled, d)
}

// floatLiteral writes v so that GLSL reads the same float.
func floatLiteral(v float32) string {
	text := strconv.FormatFloat(float64(v), 'g', -1, 32)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
