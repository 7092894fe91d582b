//go:build linux

package conv2d

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/shader"
)

// builtins are the programs that have a name, each built once.
var builtins = map[string]func() *shader.Source{
	"conv2d_3x3": builtin(func() *shader.Source { return directSource(Problem{R: 3, S: 3}, directLocal) }),
	"conv2d_5x5": builtin(func() *shader.Source { return directSource(Problem{R: 5, S: 5}, directLocal) }),
	"gemm_small": builtin(func() *shader.Source { return tile32.source(1, None).WithName("gemm_small") }),
}

// builtin returns what builds a program once. The plan that uses it checks it.
func builtin(build func() *shader.Source) func() *shader.Source {
	return sync.OnceValue(func() *shader.Source { return build().WithCheck(kernelset.CheckLater) })
}

// BuiltinNames returns the names of the built-in programs, sorted.
func BuiltinNames() []string { return slices.Sorted(maps.Keys(builtins)) }

// Builtin returns the program of a name, to load or store it before there is a problem.
// The sources are shared. It fails for any other name.
//
//	name        program of a Plan with the Choice           for
//	conv2d_3x3  direct local=64                             filters of 3x3
//	conv2d_5x5  direct local=64                             filters of 5x5
//	gemm_small  gemm_tiled tile=32 depth=16 local_y=32      plain matrix products
func Builtin(name string) (*shader.Source, error) {
	build, ok := builtins[name]
	if !ok {
		return nil, fmt.Errorf("conv2d: there is no built-in program %q (there are %s)",
			name, strings.Join(BuiltinNames(), ", "))
	}
	return build(), nil
}
