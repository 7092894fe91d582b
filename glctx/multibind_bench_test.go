//go:build linux && cgo

package glctx_test

import (
	"fmt"
	"testing"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// BenchmarkMultiBind measures on the CPU what binding storage and a dispatch take: with a
// call for each buffer, and with one glBindBuffersRange for all. The buffers alternate, so
// that no bind is redundant.
func BenchmarkMultiBind(b *testing.B) {
	const atOnce = 256 // dispatches between two waits, so that the driver's queue has room
	for _, n := range []int{2, 3, 4, 5, 6, 8} {
		for _, multi := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%s", n, map[bool]string{false: "each", true: "all"}[multi]), func(b *testing.B) {
				c := gltest.Open(b)
				program := benchProgram(b, c, `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer A { uint a; };
layout(std430, binding = 1) buffer B { uint b; };
void main() { a += 1u; b += 1u; }`)
				err := c.Do(func(ours *glctx.GL) error {
					var sets [2][]uint32
					for i := range 2 * n {
						buffer, err := ours.NewBuffer(256, nil)
						if err != nil {
							return err
						}
						defer ours.DeleteBuffer(buffer)
						sets[i%2] = append(sets[i%2], buffer.ID)
					}
					offsets, sizes := make([]int, n), make([]int, n)
					for i := range sizes {
						sizes[i] = 256
					}
					ours.UseProgram(program)
					for i := 0; b.Loop(); i++ {
						ids := sets[i%2]
						if multi {
							gl.BindBuffersRange(gl.SHADER_STORAGE_BUFFER, 0, int32(n), &ids[0], &offsets[0], &sizes[0])
						} else {
							for binding, id := range ids {
								gl.BindBufferRange(gl.SHADER_STORAGE_BUFFER, uint32(binding), id, 0, 256)
							}
						}
						ours.Dispatch(1, 1, 1)
						if i%atOnce == atOnce-1 {
							b.StopTimer()
							if err := waitNow(ours); err != nil {
								return err
							}
							b.StartTimer()
						}
					}
					return ours.Err()
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
