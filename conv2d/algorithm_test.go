//go:build linux

package conv2d

import (
	"errors"
	"math"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx"
)

// checkGEMM computes a problem by every candidate of an algorithm, in poisoned
// memory with canaries, and compares every element.
func checkGEMM(t *testing.T, r *Runner, a algorithm[GEMMProblem], p GEMMProblem) {
	t.Helper()
	seed := newSeed(t)
	in := GEMMTensors{
		A: RandomValues(p.ALen(), seed), B: RandomValues(p.BLen(), seed+1),
		C: RandomValues(p.CLen(), seed+2), Bias: RandomValues(p.BiasLen(), seed+3),
	}
	if p.Beta == 0 && p.LDC == 0 && p.StrideC == 0 {
		in.C = nil // poisoned
	}
	want := ReferenceGEMM(p, in)
	checkAlgorithm(t, r, a, p, tensorsOnHost{in.A, in.B, in.Bias, in.C}, want)
}

// checkConv is checkGEMM for a convolution.
func checkConv(t *testing.T, r *Runner, a algorithm[Problem], p Problem) {
	t.Helper()
	seed := newSeed(t)
	in := tensorsOnHost{input: RandomValues(p.InputLen(), seed), weights: RandomValues(p.WeightsLen(), seed+1)}
	if p.Bias {
		in.bias = RandomValues(p.BiasLen(), seed+2)
	}
	checkAlgorithm(t, r, a, p, in, ReferenceConv2D(p, in.input, in.weights, in.bias))
}

type problem interface {
	Validate() error
	String() string
}

func checkAlgorithm[P problem](t *testing.T, r *Runner, a algorithm[P], p P, in tensorsOnHost, want Expected) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	on := deviceOf(r.Context.Info())
	candidates := a.candidates(p, on)
	if len(candidates) == 0 {
		t.Errorf("%s has no candidate for %v", a.name, p)
	}
	for _, params := range candidates {
		recipe, err := a.recipe(p, params, on)
		if err != nil {
			t.Errorf("%s %v for %v: %v", a.name, params, p, err)
			continue
		}
		got, err := runRecipe(t, r, recipe, in, len(want.Values))
		if err != nil {
			t.Errorf("%s %v for %v: %v", a.name, params, p, err)
			continue
		}
		if report := Compare(got, want, a.tolerance(p)); !report.OK() {
			t.Errorf("%s %v for %v: %v", a.name, params, p, report)
		}
	}
}

// runRecipe runs a recipe once. Output, workspace and packed weights are poisoned
// before and have canaries behind them.
func runRecipe(t *testing.T, r *Runner, recipe recipe, in tensorsOnHost, outputs int) (values []float32, err error) {
	programs := map[*binary.Source]uint32{}
	for _, s := range recipe.whole() {
		handle, err := r.Cache.Get(t.Context(), s.source)
		if err != nil {
			return nil, err
		}
		defer handle.Release()
		programs[s.source] = handle.Program()
	}
	err = r.Context.Do(func(gl *glctx.GL) (err error) {
		memory := tensors{gl: gl}
		defer memory.free()
		buffers := map[role]glctx.Buffer{
			inputRole:   memory.upload(in.input),
			weightsRole: memory.upload(in.weights),
			outputRole:  memory.poisoned(outputs),
		}
		extra := map[role]int{packedRole: recipe.packed, workspaceRole: recipe.workspace}
		for role, n := range extra {
			if n > 0 {
				buffers[role] = memory.poisoned(n)
			}
		}
		if len(in.bias) > 0 {
			buffers[biasRole] = memory.upload(in.bias)
		}
		if memory.err != nil {
			return memory.err
		}
		if in.output != nil {
			gl.Upload(buffers[outputRole], 0, glctx.Bytes(in.output))
		}
		for _, s := range recipe.whole() {
			dispatchStep(gl, s, programs[s.source], buffers)
		}
		for role, n := range extra {
			if n > 0 {
				if _, err := memory.download(buffers[role], n); err != nil {
					return err
				}
			}
		}
		values, err = memory.download(buffers[outputRole], outputs)
		return errors.Join(err, gl.Err())
	})
	return values, err
}

func dispatchStep(gl *glctx.GL, s step, program uint32, buffers map[role]glctx.Buffer) {
	gl.UseProgram(program)
	for _, b := range s.bound {
		gl.BindStorage(b.binding, buffers[b.role])
	}
	for _, u := range s.uniforms {
		u.Set(gl, program)
	}
	gl.Dispatch(uint32(s.groups[0]), uint32(s.groups[1]), uint32(s.groups[2]))
	gl.MemoryBarrier(glctx.BarrierStorage)
}

// withSpecials puts a NaN and an infinity into values, if there is room.
func withSpecials(values []float32) []float32 {
	if len(values) > 1 {
		values[0], values[len(values)/2] = float32(math.NaN()), float32(math.Inf(1))
	}
	return values
}
