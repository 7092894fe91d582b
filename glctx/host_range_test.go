//go:build linux && cgo

package glctx_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// TestOnHost has the host compute between two dispatches that read what it wrote, in every
// kind of context.
func TestOnHost(t *testing.T) {
	for name, test := range map[string]struct {
		kind    glctx.Kind
		version string
	}{
		"gl45": {glctx.Kind{}, "#version 450 core"},
		"gl43": {glctx.Kind{Major: 4, Minor: 3}, "#version 430 core"},
		"es31": {gles31, "#version 310 es"},
	} {
		t.Run(name, func(t *testing.T) {
			c := openKind(t, test.kind)
			program := compileOne(t, c, twicePlusOne(t, test.version))
			err := c.Do(func(gl *glctx.GL) error { return computeBetween(t, gl, program) })
			if c.Info().Software() != (err == nil) || err != nil && !errors.Is(err, glctx.ErrNotSoftware) {
				t.Error(err)
			}
		})
	}
}

func compileOne(t *testing.T, c *glctx.Context, source *shader.Source) (id uint32) {
	t.Helper()
	c.Compile(context.Background(), []*shader.Source{source}, func(_ int, p shader.Program, err error) {
		if err != nil {
			t.Fatal(err)
		}
		id = p.ID
	})
	t.Cleanup(func() { c.Delete(id) })
	return id
}

// computeBetween computes y = 2x + 1, then on the host x = 3y and y = poison, then y again.
func computeBetween(t *testing.T, gl *glctx.GL, program uint32) error {
	const n = 64
	start, poison := make([]uint32, 2*n), make([]uint32, 2*n)
	for i := range start {
		start[i], poison[i] = uint32(i), 0x7fc0_dead
	}
	x, err := gl.NewBuffer(8*n, glctx.Bytes(start))
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(x)
	y, err := gl.NewBuffer(8*n, glctx.Bytes(poison))
	if err != nil {
		return err
	}
	defer gl.DeleteBuffer(y)
	run := func() {
		gl.UseProgram(program)
		gl.BindStorage(0, x)
		gl.BindStorage(1, y)
		gl.Dispatch(1, 1, 1)
	}
	run()
	halves := []glctx.HostRange{{Buffer: x, Len: 2 * n}, {Buffer: x, Offset: 2 * n, Len: 2 * n}, {Buffer: y, Len: 4 * n}}
	err = gl.OnHost(halves, func(memory [][]byte) error {
		y := memory[2]
		for half := range 2 {
			to, from := glctx.Floats(memory[half]), glctx.Floats(y[half*2*n:])
			if len(to) != n/2 || cap(memory[half]) != 2*n {
				t.Errorf("a range has %d elements and %d bytes beyond", len(to), cap(memory[half]))
			}
			words(to, from, func(v uint32) uint32 { return 3 * v })
		}
		words(glctx.Floats(y), glctx.Floats(y), func(uint32) uint32 { return 0x7fc0_dead })
		return nil
	})
	if err != nil {
		return err
	}
	run()
	gl.MemoryBarrier(glctx.BarrierUpdate)
	got := make([]uint32, 2*n)
	gl.Download(y, 0, glctx.Bytes(got))
	for i, v := range got {
		want := poison[i]
		if i < n {
			want = 2*3*(2*uint32(i)+1) + 1
		}
		if v != want {
			t.Errorf("element %d is %d, want %d", i, v, want)
		}
	}
	return gl.Err()
}

// TestOnHostFails maps what cannot be mapped, and returns errors: nothing stays mapped.
func TestOnHostFails(t *testing.T) {
	c := gltest.Open(t)
	if !c.Info().Software() {
		t.Skip("only for software drivers")
	}
	wantNoError(t, c.Do(func(gl *glctx.GL) error {
		plain, err := gl.NewBuffer(64, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(plain)
		mapped, err := gl.NewMapped(16, glctx.MapOptions{})
		if err != nil {
			return err
		}
		defer gl.DeleteMapped(mapped)
		ranges := []glctx.HostRange{{Buffer: plain, Len: 64}, {Buffer: mapped.Buffer, Len: 64}}
		calls := 0
		call := func([][]byte) error { calls++; return nil }
		if err := gl.OnHost(ranges, call); err == nil || calls != 0 {
			t.Errorf("a buffer that is mapped already: %v, %d calls", err, calls)
		}
		ranges[1].Mapped = glctx.Bytes(mapped.Words)
		if err := gl.OnHost(ranges, call); err != nil || calls != 1 {
			t.Errorf("with its mapping: %v, %d calls", err, calls)
		}
		failure := errors.New("no")
		if err := gl.OnHost(ranges, func([][]byte) error { return failure }); !errors.Is(err, failure) {
			t.Errorf("the error of a call: %v", err)
		}
		gl.Upload(plain, 0, make([]byte, 64)) // an error while it is mapped
		lost, err := gl.NewBuffer(64, nil)
		if err != nil {
			return err
		}
		losing := func([][]byte) error { gl.DeleteMapped(glctx.MappedBuffer{Buffer: lost}); return nil }
		if err := gl.OnHost([]glctx.HostRange{{Buffer: lost, Len: 64}}, losing); err == nil {
			t.Error("a buffer that the driver has lost: no error")
		}
		return gl.Err()
	}))
}

// words sets each word of to from that of from.
func words(to, from []float32, f func(uint32) uint32) {
	for i := range to {
		to[i] = math.Float32frombits(f(math.Float32bits(from[i])))
	}
}
