//go:build linux

package devices_test

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// The line that opens a GPU opens all of them. Here the first is opened twice, for machines
// with one.
func ExampleOpen() {
	ctx := context.Background()
	group, err := devices.Open(devices.Options{Device: shadercache.Options{Devices: []string{"0", "0"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close()
	program, err := group.Get(ctx, shader.MustSource("square", `
layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer In { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
void main() { uint i = gl_GlobalInvocationID.x; y[i] = x[i] * x[i]; }
`, nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer program.Release()
	numbers, squares := []float32{1, 2, 3, 4}, make([]float32, 4)
	err = group.Run(ctx, &shadercache.Job{
		Dispatch: shadercache.Dispatch{Program: program, Groups: [3]uint32{4, 1, 1}},
		Inputs:   []shadercache.Input{{Binding: 0, Data: glctx.Bytes(numbers)}},
		Outputs:  []shadercache.Output{{Binding: 1, To: glctx.Bytes(squares)}},
	})
	fmt.Println(group.Len(), squares, err)
	// Output: 2 [1 4 9 16] <nil>
}
