package shadercache_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

var twice = shader.MustSource("twice", `
layout(local_size_x = 4) in;
layout(std430, binding = 0) buffer Values { float values[]; };
void main() { values[gl_GlobalInvocationID.x] *= 2.0; }`, nil)

// A program with GL calls of its own makes a context in its process.
func ExampleOpen() {
	gpu, err := shadercache.Open(shadercache.Options{})
	check(err)
	defer gpu.Close()
	program, err := gpu.Cache.Get(context.Background(), twice)
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

// TestMain leaves the examples out where there is no driver and $SHADERCACHE_REQUIRE_GL is
// not set.
func TestMain(m *testing.M) {
	os.Exit(gltest.InCacheDir(func() int {
		context, err := glctx.Open(glctx.Options{})
		switch {
		case err == nil:
			context.Close()
		case os.Getenv(gltest.RequireGL) == "":
			flag.Parse()
			flag.Set("test.skip", "^Example")
		}
		return m.Run()
	}))
}
