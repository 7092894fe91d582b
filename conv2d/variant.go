package conv2d

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/binary"
)

// Tile is how gemm_tiled.comp divides a matrix product among invocations.
type Tile struct {
	Size   int // rows and columns of C for each group, a multiple of 4
	Depth  int // elements of K in one step through shared memory
	LocalY int // invocations in a group along M; divides Size
}

const (
	// columnsEach is how many columns of C one invocation computes: a vec4.
	columnsEach = 4
	// maxRowsEach is the most rows of C that one invocation keeps in registers.
	// Compilers unroll the loops over so many; reduction counts on it.
	maxRowsEach = 8
	// maxGroup is the largest work group that OpenGL 4.5 guarantees.
	maxGroup = 1024
)

// The tiles that suit every driver. They need 4, 8 and 16 KB of shared memory
// and a little more, which OpenGL 4.5 guarantees.
var (
	Tile32  = Tile{Size: 32, Depth: 16, LocalY: 32}
	Tile64  = Tile{Size: 64, Depth: 16, LocalY: 64}
	Tile128 = Tile{Size: 128, Depth: 16, LocalY: 32}
)

// group is the number of invocations in a work group.
func (t Tile) group() int { return t.Size / columnsEach * t.LocalY }

// SharedBytes is the shared memory of a group.
func (t Tile) SharedBytes() int { return 4 * t.Depth * (2*t.Size + 1) }

// Fit is t with the depth halved as often as it takes to fit into the given
// shared memory. It fails where even a depth of 1 is too large.
func (t Tile) Fit(sharedBytes int) (Tile, error) {
	fitted := t
	for fitted.Depth > 1 && fitted.SharedBytes() > sharedBytes {
		fitted.Depth /= 2
	}
	if fitted.SharedBytes() > sharedBytes {
		return t, fmt.Errorf("conv2d: a tile of %d needs %d bytes of shared memory, the device has %d",
			t.Size, fitted.SharedBytes(), sharedBytes)
	}
	return fitted, nil
}

func (t Tile) validate() error {
	if t.Size < 1 || t.Depth < 1 || t.LocalY < 1 {
		return fmt.Errorf("tile %+v has a part below 1", t)
	}
	if t.Size%columnsEach != 0 || t.Size%t.LocalY != 0 {
		return fmt.Errorf("tile size %d is not a multiple of %d columns and of %d invocations", t.Size, columnsEach, t.LocalY)
	}
	if t.Size > maxRowsEach*t.LocalY {
		return fmt.Errorf("tile size %d gives an invocation more than %d rows: use more invocations", t.Size, maxRowsEach)
	}
	if t.group() > maxGroup {
		return fmt.Errorf("tile size %d with %d invocations along M makes a group of %d, OpenGL promises %d",
			t.Size, t.LocalY, t.group(), maxGroup)
	}
	return nil
}

// reduction counts in elements of K. A step of Depth costs an iteration, the two
// loops that copy into shared memory, and a loop over Depth; the compiler unrolls
// the others.
func (t Tile) reduction(k int) reduction {
	copiesA := ceilDiv(t.Size*t.Depth, t.group())
	copiesB := ceilDiv(t.Size/columnsEach*t.Depth, t.group())
	steps := maxLoopIterations / (1 + loopCost(copiesA) + loopCost(copiesB) + loopCost(t.Depth))
	return reduction{length: k, step: max(1, steps) * t.Depth}
}

// Variant is one program of gemm_tiled.comp: everything that is compiled into
// it. A Scale of 0 means 1. The zero Variant is not valid, for want of a tile.
type Variant struct {
	Tile       Tile
	Activation Activation
	Scale      float32
}

// factor is the scale that the program applies.
func (v Variant) factor() float32 {
	if v.Scale == 0 {
		return 1
	}
	return v.Scale
}

// Name is a label such as gemm_t64_relu_x2, with the depth where it is not the
// usual one.
func (v Variant) Name() string {
	depth := ""
	if v.Tile.Depth != Tile32.Depth {
		depth = fmt.Sprintf("d%d", v.Tile.Depth)
	}
	return fmt.Sprintf("gemm_t%d%s_%v_x%g", v.Tile.Size, depth, v.Activation, v.factor())
}

// Validate says everything that is wrong with the variant, joined, or nil.
func (v Variant) Validate() error {
	err := v.Tile.validate()
	if !v.Activation.valid() {
		err = errors.Join(err, fmt.Errorf("there is no %v", v.Activation))
	}
	if scale := float64(v.Scale); math.IsNaN(scale) || math.IsInf(scale, 0) {
		err = errors.Join(err, fmt.Errorf("scale %v is not a finite number", v.Scale))
	}
	if err != nil {
		return fmt.Errorf("conv2d: invalid variant: %w", err)
	}
	return nil
}

// computes fails for an invalid problem and for one that needs a [Plan].
func (v Variant) computes(p GEMMProblem) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if !p.plain() {
		return fmt.Errorf("conv2d: %s computes C = A*B without gaps, not %v: make a plan", v.Name(), p)
	}
	return nil
}

// Source builds the program. Building hashes the text: keep the source where the
// variant is used again.
func (v Variant) Source() (*binary.Source, error) { return v.source(v.Name()) }

func (v Variant) source(name string) (*binary.Source, error) {
	if err := v.Validate(); err != nil {
		return nil, err
	}
	return binary.NewSource(name, gemmTiled, binary.Defines{
		"TILE":       strconv.Itoa(v.Tile.Size),
		"DEPTH":      strconv.Itoa(v.Tile.Depth),
		"LOCAL_Y":    strconv.Itoa(v.Tile.LocalY),
		"ACTIVATION": activations[v.Activation].define,
		"SCALE":      floatLiteral(v.factor()),
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
