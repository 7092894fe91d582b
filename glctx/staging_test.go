//go:build linux && cgo

package glctx_test

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// TestStaging writes through one mapping, doubles on the GPU and reads through another,
// at an offset.
func TestStaging(t *testing.T) {
	c := gltest.Open(t)
	p := compile(t, c, shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"}))[0]
	at := c.Info().StorageAlignment
	const n = 64
	err := c.Do(func(gl *glctx.GL) error {
		up, err := gl.NewStaging(at+4*n, glctx.Upload)
		if err != nil {
			return err
		}
		defer gl.DeleteStaging(up)
		down, err := gl.NewStaging(4*n, glctx.Download)
		if err != nil {
			return err
		}
		defer gl.DeleteStaging(down)
		device, err := gl.NewBuffer(at+4*n, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(device)

		values := make([]float32, n)
		for i := range values {
			values[i] = float32(i)
		}
		copy(up.Data[at:], glctx.Bytes(values))
		gl.Fill(device, 0x7fc0dead)
		gl.Copy(up.Buffer, at, device, at, 4*n)
		gl.UseProgram(p.ID)
		gl.BindStorageRange(3, device, at, 4*n)
		gl.SetFloat(gl.UniformLocation(p.ID, "offset"), 0.5)
		gl.Dispatch(2, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Copy(device, at, down.Buffer, 0, 4*n)
		gl.MemoryBarrier(glctx.BarrierMapped)
		fence := gl.NewFence()
		defer gl.DeleteFence(fence)
		if signalled, err := gl.WaitFence(fence, 10*time.Second); err != nil || !signalled {
			t.Errorf("signalled %v, %v", signalled, err)
		}
		copy(glctx.Bytes(values), down.Data)
		wantTimes(t, values, 2)
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := c.Counters().Readbacks; n != 0 {
		t.Errorf("%d readbacks were counted for mapped memory", n)
	}
}

func TestTimestampsAreMonotonic(t *testing.T) {
	c := gltest.Open(t)
	err := c.Do(func(gl *glctx.GL) error {
		first, second := gl.NewQuery(), gl.NewQuery()
		defer gl.DeleteQuery(first)
		defer gl.DeleteQuery(second)
		gl.WriteTimestamp(first)
		gl.WriteTimestamp(second)
		gl.Finish()
		if a, b := gl.Timestamp(first), gl.Timestamp(second); b < a {
			t.Errorf("%v comes after %v", b, a)
		}
		return gl.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
