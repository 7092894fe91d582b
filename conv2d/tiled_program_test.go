//go:build linux

package conv2d

import (
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

// Programs of every tile on one set of buffers; one product serves them all.
func TestTiledPrograms(t *testing.T) {
	r := newRig(t)
	p := GEMMProblem{M: 128, N: 128, K: 128, Alpha: 1}
	left, right := RandomValues(p.ALen(), 1), RandomValues(p.BLen(), 2)
	product := ReferenceGEMM(p, GEMMTensors{A: left, B: right})
	for i, side := range []int{32, 64, 128, 128} {
		p.Alpha, p.Activation = float32(1+i), Activation(i)
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
			memory := tensors{gl: gl}
			defer memory.free()
			a, b, c := memory.upload(left), memory.upload(right), memory.poisoned(p.CLen())
			if memory.err != nil {
				return memory.err
			}
			program.Dispatch(gl, handle.Program(), a, b, c)
			got, err = memory.download(c, p.CLen())
			return err
		})
		handle.Release()
		if err != nil {
			t.Fatal(err)
		}
		want := product.Scale(float64(p.Alpha), p.Activation)
		if err := Compare(got, want, Tolerance(p.K)).Err(); err != nil {
			t.Errorf("%s: %v", program.Source.Name(), err)
		}
	}
}

func TestTiledProgramRefuses(t *testing.T) {
	small := GEMMProblem{M: 128, N: 128, K: 128, Alpha: 1}
	for name, test := range map[string]struct {
		p            GEMMProblem
		side, shared int
	}{
		"half a kilobyte of shared memory": {small, 64, 1 << 9},
		"a tile of 33":                     {small, 33, 32 << 10},
		"a transposed matrix":              {GEMMProblem{M: 128, N: 128, K: 128, Alpha: 1, TransA: true}, 64, 32 << 10},
		"several dispatches":               {GEMMProblem{M: 1, N: 1, K: 1 << 22, Alpha: 1}, 64, 32 << 10},
	} {
		if _, err := NewTiledProgram(test.p, test.side, test.shared); err == nil {
			t.Errorf("no error for %s", name)
		}
	}
}
