package shadercache_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

var double = shader.MustSource("double", `
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() { values[gl_GlobalInvocationID.x] *= 2.0; }`, nil)

func Example() {
	// A context without a window, on a thread of its own, with a cache over it.
	gpu, err := shadercache.Open(shadercache.Options{})
	check(err)
	defer gpu.Close()

	// Compiled at the first start, loaded at every later one.
	program, err := gpu.Cache.Get(context.Background(), double)
	check(err)
	defer program.Release()

	values := []float32{1, 2, 3, 4}
	check(gpu.Context.Do(func(gl *glctx.GL) error { // runs on the GL thread
		buffer, err := gl.NewBuffer(16, glctx.Bytes(values))
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(buffer)
		gl.UseProgram(program.Program())
		gl.BindStorage(0, buffer)
		gl.Dispatch(1, 1, 1)
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(buffer, 0, glctx.Bytes(values))
		return gl.Err()
	}))
	fmt.Println(values)
	// Output: [2 4 6 8]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
