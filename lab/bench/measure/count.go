package measure

import (
	"fmt"

	"github.com/shadercache/shadercache/shader"
)

// countText adds STEP to one counter.
const countText = `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Count { uint count; };
void main() { atomicAdd(count, uint(STEP)); }`

// CountSource returns a program that adds step to the counter at binding 0, the
// shortest dispatch whose execution can be verified.
func CountSource(step int) *shader.Source {
	return shader.MustSource(fmt.Sprintf("bench_count_%d", step), countText, shader.Defines{"STEP": fmt.Sprint(step)})
}
