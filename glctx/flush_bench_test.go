//go:build linux

package glctx_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// gatherText adds words of a large buffer that are far apart.
const gatherText = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer From { uint from[]; };
layout(std430, binding = 1) buffer To { uint sums[]; };
uniform uint stride;
void main() {
    uint i = gl_GlobalInvocationID.x;
    sums[i] = from[i * stride] + i;
}`

// BenchmarkFlush measures hosts that write 64 words, spread over a large mapped buffer,
// have a kernel read them, and wait for its result: with coherent memory, with memory that
// a barrier makes visible, and with ranges that are flushed. Every result is compared.
func BenchmarkFlush(b *testing.B) {
	const written = 64
	for _, size := range []int{1 << 20, 64 << 20} {
		for _, o := range []glctx.MapOptions{
			{WriteOnly: true}, {WriteOnly: true, ServerStorage: true},
			{WriteOnly: true, Incoherent: true}, {WriteOnly: true, Incoherent: true, ServerStorage: true},
			{WriteOnly: true, FlushExplicit: true}, {WriteOnly: true, FlushExplicit: true, ServerStorage: true},
		} {
			b.Run(fmt.Sprintf("%dMiB/%s", size>>20, mapName(o)), func(b *testing.B) {
				c := gltest.Open(b)
				program := benchProgram(b, c, gatherText)
				var from, to glctx.MappedBuffer
				stride := size / 4 / written
				err := c.Do(func(gl *glctx.GL) (err error) {
					if from, err = gl.NewMapped(size/4, o); err != nil {
						return err
					}
					to, err = gl.NewMapped(written, glctx.MapOptions{})
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				var times []time.Duration
				for n := 0; b.Loop(); n++ {
					began := time.Now()
					for i := range written {
						from.Words[i*stride] = uint32(n * i)
					}
					if err := c.Do(func(gl *glctx.GL) error { return gather(gl, program, from, to, o, stride) }); err != nil {
						b.Fatal(err)
					}
					times = append(times, time.Since(began))
					for i, got := range to.Words {
						if want := uint32(n*i + i); got != want {
							b.Fatalf("word %d is %d, not %d", i, got, want)
						}
						to.Words[i] = 0xdeadbeef
					}
				}
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, "us/median")
				_ = c.Do(func(gl *glctx.GL) error { gl.DeleteMapped(from); gl.DeleteMapped(to); return nil })
			})
		}
	}
}

func mapName(o glctx.MapOptions) string {
	name := "coherent"
	if o.Incoherent {
		name = "barrier"
	}
	if o.FlushExplicit {
		name = "flush"
	}
	if o.ServerStorage {
		return name + "/server"
	}
	return name + "/client"
}

// gather makes the written words visible, runs the kernel and waits for it.
func gather(gl *glctx.GL, program uint32, from, to glctx.MappedBuffer, o glctx.MapOptions, stride int) error {
	if o.FlushExplicit {
		for i := range len(to.Words) {
			gl.FlushMapped(from, i*stride, 1)
		}
	} else if o.Incoherent {
		gl.MemoryBarrier(glctx.BarrierMapped)
	}
	gl.UseProgram(program)
	gl.SetUint(gl.UniformLocation(program, "stride"), uint32(stride))
	gl.BindStorage(0, from.Buffer)
	gl.BindStorage(1, to.Buffer)
	gl.Dispatch(1, 1, 1)
	gl.MemoryBarrier(glctx.BarrierMapped)
	return waitNow(gl)
}

// waitNow waits for all commands.
func waitNow(gl *glctx.GL) error {
	f := gl.NewFence()
	defer gl.DeleteFence(f)
	_, err := gl.WaitFence(f, 10*time.Second)
	return err
}

// benchProgram compiles a program for a benchmark.
func benchProgram(b *testing.B, c *glctx.Context, text string) uint32 {
	b.Helper()
	var id uint32
	c.Compile(b.Context(), []*shader.Source{shader.MustSource("bench", text, nil)}, func(_ int, p shader.Program, err error) {
		if err != nil {
			b.Fatal(err)
		}
		id = p.ID
	})
	b.Cleanup(func() { c.Delete(id) })
	return id
}
