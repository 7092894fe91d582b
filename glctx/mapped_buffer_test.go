//go:build linux

package glctx_test

import (
	"context"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

const mappedText = `
layout(local_size_x = 1) in;
struct Pair { vec2 at; uint mark; };
layout(std430, binding = 0) buffer Words { uint words[]; };
layout(std430, binding = 1) buffer Pairs { int first; Pair pairs[]; };
void main() {
    words[1] = words[0] * 2u;
    pairs[1].mark = words[0];
    pairs[1].at.y = 0.5;
    first = -1;
}`

// TestMappedBuffer writes a word, doubles it in a kernel, and reads the result.
func TestMappedBuffer(t *testing.T) {
	c := gltest.Open(t)
	var program uint32
	c.Compile(context.Background(), []*shader.Source{shader.MustSource("mapped", mappedText, nil)},
		func(_ int, p shader.Program, err error) {
			if err != nil {
				t.Fatal(err)
			}
			program = p.ID
		})
	defer c.Delete(program)
	err := c.Do(func(gl *glctx.GL) error {
		s, err := gl.NewMapped(16, glctx.MapOptions{})
		if err != nil {
			return err
		}
		defer gl.DeleteMapped(s)
		pairs, err := gl.NewBuffer(64, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(pairs)
		for i, w := range s.Words {
			if w != 0 {
				t.Errorf("word %d is %d at first", i, w)
			}
		}
		s.Words[0], s.Words[1] = 21, 0xdeadbeef
		gl.UseProgram(program)
		gl.BindStorage(0, s.Buffer)
		gl.BindStorage(1, pairs)
		gl.Dispatch(1, 1, 1)
		gl.MemoryBarrier(glctx.BarrierMapped)
		gl.Finish()
		if s.Words[1] != 42 {
			t.Errorf("word 1 is %d, not 42", s.Words[1])
		}
		if _, err := gl.NewMapped(0, glctx.MapOptions{}); err == nil {
			t.Error("a mapped buffer of no words was made")
		}
		wantVariables(t, gl, program)
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantVariables compares the layout with the rules of std430.
func wantVariables(t *testing.T, gl *glctx.GL, program uint32) {
	t.Helper()
	list, err := gl.Variables(program)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]glctx.Variable{
		"words[0]":      {Block: "Words", Base: "uint", Words: 1, Stride: 4},
		"first":         {Block: "Pairs", Base: "int", Words: 1, Length: 1},
		"pairs[0].at":   {Block: "Pairs", Base: "float", Words: 2, Offset: 8, Length: 1, TopStride: 16},
		"pairs[0].mark": {Block: "Pairs", Base: "uint", Words: 1, Offset: 16, Length: 1, TopStride: 16},
	}
	for _, v := range list {
		w, known := want[v.Name]
		if !known {
			t.Errorf("unexpected variable %s", v.Name)
			continue
		}
		w.Name = v.Name
		if v.Name == "words[0]" {
			w.TopStride = v.TopStride // 4 or 0, by driver, for an array that is outermost and innermost
		}
		if v != w {
			t.Errorf("%+v, not %+v", v, w)
		}
		delete(want, v.Name)
	}
	if len(want) > 0 {
		t.Errorf("these are missing: %v", want)
	}
}

// TestMapOptions copies words from one mapped buffer, which the host has written, to
// another, which the host reads, in 32 combinations of options.
func TestMapOptions(t *testing.T) {
	c := gltest.Open(t)
	var program uint32
	c.Compile(context.Background(), []*shader.Source{shader.MustSource("copy", `
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer From { uint from[]; };
layout(std430, binding = 1) buffer To { uint to[]; };
void main() { to[gl_LocalInvocationIndex] += 7u * from[gl_LocalInvocationIndex]; }`, nil)},
		func(_ int, p shader.Program, err error) {
			if err != nil {
				t.Fatal(err)
			}
			program = p.ID
		})
	defer c.Delete(program)
	for i := range 32 {
		from := glctx.MapOptions{ServerStorage: i&1 != 0, WriteOnly: i&2 != 0, Incoherent: i&4 != 0, FlushExplicit: i&16 != 0}
		to := glctx.MapOptions{ServerStorage: i&1 == 0, ReadOnly: i&8 != 0, Incoherent: i&4 == 0}
		err := c.Do(func(gl *glctx.GL) error {
			a, err := gl.NewMapped(8, from)
			if err != nil {
				return err
			}
			defer gl.DeleteMapped(a)
			b, err := gl.NewMapped(8, to)
			if err != nil {
				return err
			}
			defer gl.DeleteMapped(b)
			for n := range a.Words {
				a.Words[n] = uint32(100*i + n)
			}
			if from.FlushExplicit {
				gl.FlushMapped(a, 0, 8)
			} else {
				gl.MemoryBarrier(glctx.BarrierMapped)
			}
			gl.UseProgram(program)
			gl.BindStorage(0, a.Buffer)
			gl.BindStorage(1, b.Buffer)
			gl.Dispatch(1, 1, 1)
			gl.MemoryBarrier(glctx.BarrierMapped)
			gl.Finish()
			for n, w := range b.Words {
				if want := uint32(7 * (100*i + n)); w != want {
					t.Errorf("%+v to %+v: word %d is %d, not %d", from, to, n, w, want)
				}
			}
			return gl.Err()
		})
		if err != nil {
			t.Errorf("%+v to %+v: %v", from, to, err)
		}
	}
	err := c.Do(func(gl *glctx.GL) error {
		if _, err := gl.NewMapped(8, glctx.MapOptions{WriteOnly: true, ReadOnly: true}); err == nil {
			t.Error("a mapped buffer for neither reads nor writes was made")
		}
		if _, err := gl.NewMapped(8, glctx.MapOptions{FlushExplicit: true, ReadOnly: true}); err == nil {
			t.Error("a mapped buffer for flushes without writes was made")
		}
		coherent, err := gl.NewMapped(8, glctx.MapOptions{})
		if err != nil {
			return err
		}
		defer gl.DeleteMapped(coherent)
		if gl.FlushMapped(coherent, 0, 8); gl.Err() == nil {
			t.Error("a buffer without FlushExplicit was flushed")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
