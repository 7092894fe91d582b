//go:build linux

package conv2d

import (
	"fmt"
	"math"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// TiledProgram is one program of the algorithm gemm_tiled with its tile, alpha and
// activation compiled in. It is for measuring what getting programs costs: to compute
// something, use a [Plan].
type TiledProgram struct {
	Source *shader.Source

	step kernel.Step
}

// guaranteed is what OpenGL 4.5 promises of every device, apart from shared memory.
var guaranteed = device{maxInvocations: 1024, maxGroups: [3]int32{65_535, 65_535, 65_535}}

// NewTiledProgram returns the program for a problem with a tile of 32, 64 or 128. A
// tile that the shared memory cannot hold gets less depth. It needs no context. It
// fails where a device with that much shared memory cannot run the program, and where
// the product needs more than one dispatch.
func NewTiledProgram(p GEMMProblem, side, sharedBytes int) (TiledProgram, error) {
	for _, t := range []TiledParams{tile32, tile64, tile128} {
		if t.Tile != side {
			continue
		}
		t, err := t.fit(sharedBytes)
		if err != nil {
			return TiledProgram{}, err
		}
		on := guaranteed
		on.sharedBytes = t.sharedBytes()
		r, err := gemmTiledAlgorithm.sequence(p, t, on)
		if err == nil && len(r.Steps) != 1 {
			err = fmt.Errorf("conv2d: %v needs %d dispatches", p, len(r.Steps))
		}
		if err != nil {
			return TiledProgram{}, err
		}
		return TiledProgram{Source: r.Steps[0].Source, step: r.Steps[0]}, nil
	}
	return TiledProgram{}, fmt.Errorf("conv2d: there is no tile of %d", side)
}

// Dispatch starts the program, which must have been made from s.Source, on the three
// matrices of its problem. It binds the program and storage bindings 0 to 2 and does
// not wait; a memory barrier has to come before C is used otherwise.
func (s TiledProgram) Dispatch(gl *glctx.GL, program uint32, a, b, c glctx.Buffer) {
	buffers := map[kernel.Role]glctx.Buffer{kernel.Input: a, kernel.Weights: b, kernel.Output: c}
	s.step.Use(gl, program)
	for _, at := range s.step.Bindings {
		gl.BindStorage(at.Index, buffers[at.Role])
	}
	s.step.Start(gl)
}

// Scale returns what act(alpha * e) should be. It does not change e.
func (e Expected) Scale(alpha float64, act Activation) Expected {
	out := newExpected(len(e.Values))
	for i, x := range e.Values {
		out.Values[i] = act.Apply(alpha * x)
		out.Magnitudes[i] = act.magnitude(math.Abs(alpha) * e.Magnitudes[i])
	}
	return out
}
