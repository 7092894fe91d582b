//go:build linux

package conv2d

import (
	"fmt"
	"math"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// StartupProgram is one program of the workload startup48, which measures what
// getting programs costs. Everything that makes it differ from the others is
// compiled into it. It is for measuring: to compute something, use a [Plan].
type StartupProgram struct {
	Source     *shader.Source
	Alpha      float32
	Activation Activation

	step kernel.Step
}

// StartupProblem is what every program of the workload startup48 computes, each with
// an Alpha and an Activation of its own.
func StartupProblem() GEMMProblem { return GEMMProblem{M: 128, N: 128, K: 128} }

// startupActivations is how many activations the workload has: none, relu, tanh
// and silu.
const startupActivations = 4

// StartupPrograms is startup48, one matrix product in 48 programs: tiles of 32, 64
// and 128, the four activations, and alphas of 1 to 4. With another count it is the
// first of them, or goes on with alphas of 5, 6 and so on; a short list still has
// every tile. Tiles that the shared memory cannot hold get less depth; all programs
// stay different. It needs no context, and fails for a negative count and where a
// device with so much shared memory cannot run the programs.
func StartupPrograms(count, sharedBytes int) ([]StartupProgram, error) {
	if count < 0 {
		return nil, fmt.Errorf("conv2d: a workload of %d programs", count)
	}
	tiles := []tile{tile32, tile64, tile128}
	for i, t := range tiles {
		fitted, err := t.fit(sharedBytes)
		if err != nil {
			return nil, err
		}
		tiles[i] = fitted
	}
	programs := make([]StartupProgram, count)
	for i := range programs {
		alpha := float32(1 + i/(len(tiles)*startupActivations))
		p, err := newStartupProgram(tiles[i%len(tiles)], alpha, Activation(i/len(tiles)%startupActivations))
		if err != nil {
			return nil, err
		}
		programs[i] = p
	}
	return programs, nil
}

// guaranteed is what OpenGL 4.5 promises of every device, apart from shared memory.
var guaranteed = device{maxInvocations: 1024, maxGroups: [3]int32{65_535, 65_535, 65_535}}

func newStartupProgram(t tile, alpha float32, a Activation) (StartupProgram, error) {
	p, on := StartupProblem(), guaranteed
	p.Factors, p.Activation, on.sharedBytes = AlphaBeta(alpha, 0), a, t.sharedBytes()
	r, err := gemmTiledSequence(p, t.params(), on)
	if err != nil {
		return StartupProgram{}, err
	}
	s := r.Steps[0] // the product is too small to be cut
	return StartupProgram{Source: s.Source, Alpha: alpha, Activation: a, step: s}, nil
}

// Dispatch starts the program, which must have been made from s.Source, on the three
// matrices of [StartupProblem]. It binds the program and storage bindings 0 to 2 and
// does not wait; before C is used otherwise, a memory barrier has to come.
func (s StartupProgram) Dispatch(gl *glctx.GL, program uint32, a, b, c glctx.Buffer) {
	buffers := map[kernel.Role]glctx.Buffer{kernel.Input: a, kernel.Weights: b, kernel.Output: c}
	s.step.Use(gl, program)
	for _, at := range s.step.Bindings {
		gl.BindStorage(at.Index, buffers[at.Role])
	}
	s.step.Start(gl)
}

// Of is what the program makes of A*B, given what that is. It leaves product as it
// is.
func (s StartupProgram) Of(product Expected) Expected {
	alpha := float64(s.Alpha)
	out := newExpected(len(product.Values))
	for i, x := range product.Values {
		out.Values[i] = s.Activation.Apply(alpha * x)
		out.Magnitudes[i] = s.Activation.magnitude(math.Abs(alpha) * product.Magnitudes[i])
	}
	return out
}
