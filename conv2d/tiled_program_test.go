//go:build linux

package conv2d

import (
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/glctx"
)

// Programs of every tile on one set of buffers; one product serves them all.
func TestTiledPrograms(t *testing.T) {
	r := newRig(t)
	p := GEMMProblem{M: 128, N: 128, K: 128}
	left, right := RandomValues(p.ALen(), 1), RandomValues(p.BLen(), 2)
	product := ReferenceGEMM(p, GEMMTensors{A: left, B: right})
	for i, side := range []int{32, 64, 128, 128} {
		p.Factors, p.Activation = AlphaBeta(float32(1+i), 0), Activation(i)
		program, err := NewTiledProgram(p, side, r.context.Info().MaxSharedBytes)
		if err != nil {
			t.Fatal(err)
		}
		handle, err := r.cache.Get(t.Context(), program.Source)
		if err != nil {
			t.Fatal(err)
		}
		var got []float32
		err = r.context.Do(func(gl *glctx.GL) error {
			tensors, err := kernel.NewDeviceTensors(gl, kernel.Tensors{Input: left, Weights: right}, p.CLen())
			if err != nil {
				return err
			}
			defer tensors.Free(gl)
			program.Dispatch(gl, handle.Program(), tensors.Buffer(kernel.Input), tensors.Buffer(kernel.Weights), tensors.Buffer(kernel.Output))
			got, err = tensors.ReadOutput(gl)
			return err
		})
		handle.Release()
		if err != nil {
			t.Fatal(err)
		}
		want := product.Scale(float64(p.Factors.Alpha()), p.Activation)
		if err := Compare(got, want, Tolerance(p.K)).Err(); err != nil {
			t.Errorf("%s: %v", program.Source.Name(), err)
		}
	}
}

func TestTiledProgramRefuses(t *testing.T) {
	small := GEMMProblem{M: 128, N: 128, K: 128}
	for name, test := range map[string]struct {
		p            GEMMProblem
		side, shared int
	}{
		"half a kilobyte of shared memory": {small, 64, 1 << 9},
		"a tile of 33":                     {small, 33, 32 << 10},
		"a transposed matrix":              {GEMMProblem{M: 128, N: 128, K: 128, TransA: true}, 64, 32 << 10},
		"several dispatches":               {GEMMProblem{M: 1, N: 1, K: 1 << 22}, 64, 32 << 10},
	} {
		if _, err := NewTiledProgram(test.p, test.side, test.shared); err == nil {
			t.Errorf("no error for %s", name)
		}
	}
}
