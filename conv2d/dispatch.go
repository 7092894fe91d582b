//go:build linux

package conv2d

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// Conv2DBuffers are the device tensors of a convolution, each at least as large
// as the problem says. The zero Bias means none.
type Conv2DBuffers struct {
	Input, Weights, Bias, Output glctx.Buffer
}

// GEMMBuffers are the device matrices of a matrix product, each at least as
// large as the problem says.
type GEMMBuffers struct {
	A, B, C glctx.Buffer
}

// Dispatch starts the convolution with a program made from p.Source. It binds
// the program and storage bindings 0 to 3 and does not wait; before the output
// is used otherwise, a memory barrier has to come. It returns the number of
// dispatches, more than one where the reduction is long, and fails for an
// invalid problem, for a grid that the device cannot start, and when ctx ends
// between two dispatches.
func (p Problem) Dispatch(ctx context.Context, gl *glctx.GL, program uint32, b Conv2DBuffers) (int, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	groups := [3]int{ceilDiv(p.P()*p.Q(), directLocal), p.K, p.N}
	if err := checkGrid(p, groups, gl.Info().MaxGroups); err != nil {
		return 0, err
	}
	gl.UseProgram(program)
	gl.BindStorage(0, b.Input)
	gl.BindStorage(1, b.Weights)
	gl.BindStorage(2, b.Output)
	gl.BindStorage(3, b.Bias)
	u := uniforms{gl, program}
	p.eachUniform(b.Bias != glctx.Buffer{}, u.set)
	return sumUp(ctx, gl, p.reduction(), groups, func(s span) {
		u.set("firstRow", s.first)
		u.set("lastRow", s.last)
	})
}

// Dispatch starts the matrix product with a program made from v.Source. It binds
// the program and storage bindings 0 to 2; otherwise it is like
// [Problem.Dispatch].
func (v Variant) Dispatch(ctx context.Context, gl *glctx.GL, program uint32, p GEMMProblem, b GEMMBuffers) (int, error) {
	if err := v.computes(p); err != nil {
		return 0, err
	}
	groups := [3]int{ceilDiv(p.N, v.Tile.Size), ceilDiv(p.M, v.Tile.Size), 1}
	if err := checkGrid(p, groups, gl.Info().MaxGroups); err != nil {
		return 0, err
	}
	gl.UseProgram(program)
	gl.BindStorage(0, b.A)
	gl.BindStorage(1, b.B)
	gl.BindStorage(2, b.C)
	u := uniforms{gl, program}
	u.set("M", p.M)
	u.set("N", p.N)
	u.set("K", p.K)
	return sumUp(ctx, gl, v.Tile.reduction(p.K), groups, func(s span) {
		u.set("firstK", s.first)
		u.set("lastK", s.last)
	})
}

// directLocal is LOCAL of conv2d_direct.comp.
const directLocal = 64

// sumUp dispatches the current program once for every span, each after the one
// before has written its sums.
func sumUp(ctx context.Context, gl *glctx.GL, r reduction, groups [3]int, set func(span)) (int, error) {
	for i := range r.dispatches() {
		if err := ctx.Err(); err != nil {
			return i, fmt.Errorf("conv2d: stopped after %d of %d dispatches: %w", i, r.dispatches(), err)
		}
		if i > 0 {
			gl.MemoryBarrier(glctx.BarrierStorage)
		}
		set(r.span(i))
		gl.Dispatch(uint32(groups[0]), uint32(groups[1]), uint32(groups[2]))
	}
	return r.dispatches(), nil
}

// checkGrid fails where the device cannot start so many groups at once.
func checkGrid(problem fmt.Stringer, groups [3]int, limit [3]int32) error {
	for axis, n := range groups {
		if n > int(limit[axis]) {
			return fmt.Errorf("conv2d: %v needs %d work groups along %c, this device allows %d: split the problem",
				problem, n, 'x'+rune(axis), limit[axis])
		}
	}
	return nil
}

// uniforms sets int uniforms of the current program. A uniform that the program
// does not use is skipped.
type uniforms struct {
	gl      *glctx.GL
	program uint32
}

func (u uniforms) set(name string, v int) {
	u.gl.SetInt(u.gl.UniformLocation(u.program, name), int32(v))
}

// eachUniform calls set for every uniform but firstRow and lastRow.
func (p Problem) eachUniform(withBias bool, set func(name string, v int)) {
	set("channels", p.C)
	set("height", p.H)
	set("width", p.W)
	set("filters", p.K)
	set("groupC", p.groupC())
	set("groupK", p.groupK())
	set("filterR", p.R)
	set("filterS", p.S)
	set("outputH", p.P())
	set("outputW", p.Q())
	set("strideH", orOne(p.StrideH))
	set("strideW", orOne(p.StrideW))
	set("padH", p.PadH)
	set("padW", p.PadW)
	set("dilationH", orOne(p.DilationH))
	set("dilationW", orOne(p.DilationW))
	set("firstPixel", 0)
	set("firstFilter", 0)
	set("firstImage", 0)
	bias := 0
	if withBias {
		bias = 1
	}
	set("withBias", bias)
}
