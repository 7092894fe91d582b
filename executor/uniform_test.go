package executor

import (
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// TestEqualUniformsOfTwoPrograms gives two programs of one batch the same value: each
// program has its own.
func TestEqualUniformsOfTwoPrograms(t *testing.T) {
	f := newFixture(t, Options{})
	j := Job{Then: make([]Dispatch, 1)}
	var results [2]*Buffer[uint32]
	for i, add := range []string{"1", "2"} {
		h, err := f.cache.Get(t.Context(), shader.MustSource("uniform"+add, `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Result { uint result; };
uniform uint k;
void main() { result = k + uint(ADD); }`, shader.Defines{"ADD": add}))
		if err != nil {
			t.Fatal(err)
		}
		defer h.Release()
		if results[i], err = BufferOf(f.Executor, make([]uint32, 4)); err != nil {
			t.Fatal(err)
		}
		defer results[i].Release()
		*j.At(i) = Dispatch{Program: h, Groups: [3]uint32{1, 1, 1}, Buffers: []Bound{results[i].Bind(0)},
			Uniforms: []job.Uniform{job.Uint("k", 40)}}
	}
	p := f.submit(j)
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{41, 42} {
		var got [1]uint32
		if err := results[i].Download(t.Context(), 0, got[:]); err != nil || got[0] != want {
			t.Errorf("program %d: %d, %v, not %d", i, got[0], err, want)
		}
	}
}
