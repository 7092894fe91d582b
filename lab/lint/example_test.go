package lint_test

import (
	"fmt"

	"github.com/shadercache/shadercache/lab/lint"
)

func ExampleCheck() {
	findings := lint.Check("early.comp", `#version 450 core
layout(local_size_x = 64) in;
uniform uint count;
void main() {
    if (gl_GlobalInvocationID.x >= count)
        return;
    barrier();
}`)
	for _, f := range findings {
		fmt.Println(f)
	}
	// Output: early.comp:6:9: return-before-barrier: some invocations return here and miss the barrier() in line 7
}
