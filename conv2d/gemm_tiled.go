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
func (p TiledParams) String() string { return paramsText(p) }

// tile is how gemm_tiled.comp divides a matrix product among invocations.
type tile struct{ size, depth, localY int }

// The tiles that suit every driver. They need 4, 8 and 16 KB of shared memory and a
// little more, which OpenGL 4.5 guarantees.
var (
	tile32  = tile{size: 32, depth: 16, localY: 32}
	tile64  = tile{size: 64, depth: 16, localY: 64}
	tile128 = tile{size: 128, depth: 16, localY: 32}
)

const (
	// columnsEach is the number of columns of C of an invocation: a vec4.
	columnsEach = 4
	// maxRowsEach is the most rows of C in the registers of an invocation. Compilers
	// unroll the loops over them; reduction depends on it.
	maxRowsEach = 8
)

func (t tile) params() TiledParams {
	return TiledParams{Tile: t.size, Depth: t.depth, LocalY: t.localY}
}

// group is the number of invocations in a work group.
func (t tile) group() int { return t.size / columnsEach * t.localY }

// sharedBytes is the shared memory of a group.
func (t tile) sharedBytes() int { return 4 * t.depth * (2*t.size + 1) }

// fit returns t with the depth halved until it fits into the shared memory. It fails
// where even a depth of 1 is too large.
func (t tile) fit(sharedBytes int) (tile, error) {
	fitted := t
	for fitted.depth > 1 && fitted.sharedBytes() > sharedBytes {
		fitted.depth /= 2
	}
	if fitted.sharedBytes() > sharedBytes {
		return t, fmt.Errorf("conv2d: a tile of %d needs %d bytes of shared memory, the device has %d",
			t.size, fitted.sharedBytes(), sharedBytes)
	}
	return fitted, nil
}

// tileOf reads a tile from parameters.
func tileOf(params TiledParams, on device) (tile, error) {
	t := tile{size: params.Tile, depth: params.Depth, localY: params.LocalY}
	fault := func(format string, args ...any) (tile, error) {
		return t, fmt.Errorf("conv2d: gemm_tiled: "+format, args...)
	}
	switch {
	case t.size < 1 || t.depth < 1 || t.localY < 1:
		return fault("tile, depth and local_y of %q must be at least 1", params)
	case t.size%columnsEach != 0 || t.size%t.localY != 0:
		return fault("tile %d is not a multiple of %d columns and of %d invocations", t.size, columnsEach, t.localY)
	case t.size > maxRowsEach*t.localY:
		return fault("tile %d gives an invocation more than %d rows: use more invocations", t.size, maxRowsEach)
	case t.group() > on.maxInvocations:
		return fault("tile %d with %d invocations along M makes a group of %d, the device allows %d",
			t.size, t.localY, t.group(), on.maxInvocations)
	case t.sharedBytes() > on.sharedBytes:
		return fault("%q needs %d bytes of shared memory, the device has %d", params, t.sharedBytes(), on.sharedBytes)
	}
	return t, nil
}

// reduction counts in elements of K. A step of the depth costs an iteration, the two
// loops that copy into shared memory, and a loop over the depth; the compiler unrolls
// the others.
func (t tile) reduction(k int) reduction {
	copiesA := ceilDiv(t.size*t.depth, t.group())
	copiesB := ceilDiv(t.size/columnsEach*t.depth, t.group())
	steps := maxLoopIterations / (1 + loopCost(copiesA) + loopCost(copiesB) + loopCost(t.depth))
	return reduction{length: k, step: max(1, steps) * t.depth}
}

// takesTiles reports whether gemm_tiled computes the problem.
func (p GEMMProblem) takesTiles() bool {
	return p.canonical() == GEMMProblem{M: p.M, N: p.N, K: p.K, Factors: AlphaBeta(p.alpha(), 0), Activation: p.Activation}.canonical()
}

func gemmTiledSequence(p GEMMProblem, params TiledParams, on device) (kernel.Sequence, error) {
	t, err := tileOf(params, on)
	if err != nil {
		return kernel.Sequence{}, err
	}
	if !p.takesTiles() {
		return kernel.Sequence{}, fmt.Errorf("conv2d: gemm_tiled computes C = act(alpha * A*B) without gaps, once, and not %v", p)
	}
	var r kernel.Sequence
	sum := t.reduction(p.depth())
	for i := range sum.dispatches() {
		part := sum.span(i)
		r.Steps = append(r.Steps, kernel.Step{
			Source:   t.source(p.alpha(), p.Activation),
			Groups:   [3]int{ceilDiv(p.N, t.size), ceilDiv(p.M, t.size), 1},
			Uniforms: kernel.Ints{{"M", p.M}, {"N", p.N}, {"K", p.depth()}, {"firstK", part.first}, {"lastK", part.last}}.Uniforms(),
			Bindings: []kernel.Binding{kernel.Input.At(0), kernel.Weights.At(1), kernel.Output.At(2)},
		})
	}
	return r, nil
}

// source is the program of a tile. Its name is like gemm_t64_relu_x2, with the depth
// where it is not the usual one.
func (t tile) source(alpha float32, a Activation) *shader.Source {
	depth := ""
	if t.depth != tile32.depth {
		depth = fmt.Sprintf("d%d", t.depth)
	}
	return shader.MustSource(fmt.Sprintf("gemm_t%d%s_%v_x%g", t.size, depth, a, alpha), gemmTiled, shader.Defines{
		"TILE":       strconv.Itoa(t.size),
		"DEPTH":      strconv.Itoa(t.depth),
		"LOCAL_Y":    strconv.Itoa(t.localY),
		"ACTIVATION": activations[a].define,
		"SCALE":      floatLiteral(alpha),
	})
}

// floatLiteral writes v so that GLSL reads the same float.
func floatLiteral(v float32) string {
	text := strconv.FormatFloat(float64(v), 'g', -1, 32)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
