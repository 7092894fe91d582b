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
layout(std430, binding = 0) readonly buffer In { float values[]; };
layout(std430, binding = 1) writeonly buffer Out { float doubled[]; };
void main() { doubled[gl_GlobalInvocationID.x] = 2.0 * values[gl_GlobalInvocationID.x]; }`, nil)

func Example() {
	ctx := context.Background()

	// A GL context of this process, or a server's: see SHADERCACHE_SERVER.
	gpu, err := shadercache.Connect(ctx, shadercache.Options{})
	check(err)
	defer gpu.Close()

	// Compiled at the first start, loaded at every later one.
	program, err := gpu.Get(ctx, double)
	check(err)
	defer program.Release()

	values, doubled := []float32{1, 2, 3, 4}, make([]float32, 4)
	check(gpu.Run(ctx, &shadercache.Job{
		Dispatch: shadercache.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}},
		Inputs:   []shadercache.Input{{Binding: 0, Data: glctx.Bytes(values)}},
		Outputs:  []shadercache.Output{{Binding: 1, To: glctx.Bytes(doubled)}},
	}))
	fmt.Println(doubled)
	// Output: [2 4 6 8]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
