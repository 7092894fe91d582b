package conv2d

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/binary"
)

var (
	//go:embed kernels/conv2d_direct.comp
	conv2dDirect string
	//go:embed kernels/gemm_tiled.comp
	gemmTiled string
)

// smallVariant is the built-in gemm_small.
var smallVariant = Variant{Tile: Tile32}

// The sources that are used under a fixed name, each built once.
var (
	source3x3    = sync.OnceValue(func() *binary.Source { return direct("conv2d_3x3", 3, 3) })
	source5x5    = sync.OnceValue(func() *binary.Source { return direct("conv2d_5x5", 5, 5) })
	sourceDirect = sync.OnceValue(func() *binary.Source {
		return binary.MustSource("conv2d_direct", conv2dDirect, nil)
	})
	sourceSmall = sync.OnceValue(func() *binary.Source {
		s, err := smallVariant.source("gemm_small")
		if err != nil {
			panic(err)
		}
		return s
	})
)

// builtins are the programs that people may ask for by name.
var builtins = map[string]func() *binary.Source{
	"conv2d_3x3": source3x3,
	"conv2d_5x5": source5x5,
	"gemm_small": sourceSmall,
}

// direct is the direct convolution with a filter size known to the compiler.
func direct(name string, r, s int) *binary.Source {
	return binary.MustSource(name, conv2dDirect, binary.Defines{
		"FILTER_R": strconv.Itoa(r),
		"FILTER_S": strconv.Itoa(s),
	})
}

// BuiltinNames are the names that Builtin knows, sorted.
func BuiltinNames() []string { return slices.Sorted(maps.Keys(builtins)) }

// Builtin returns the program of a name: conv2d_3x3 and conv2d_5x5, convolutions
// with a filter of that size, and gemm_small, a matrix product in 32x32 tiles.
// The sources are shared. It fails for any other name.
func Builtin(name string) (*binary.Source, error) {
	build, ok := builtins[name]
	if !ok {
		return nil, fmt.Errorf("conv2d: there is no built-in program %q (there are %s)",
			name, strings.Join(BuiltinNames(), ", "))
	}
	return build(), nil
}

// Source is the program that computes the problem: the one made for its filter
// size, else the one for every size. It does not depend on anything else but the
// activation, so that problems share programs. A [Plan] is faster.
func (p Problem) Source() *binary.Source {
	switch {
	case p.Activation != None:
		return binary.MustSource("conv2d_direct_"+p.Activation.String(), conv2dDirect, binary.Defines{
			"ACTIVATION": activations[p.Activation].define,
		})
	case p.R == 3 && p.S == 3:
		return source3x3()
	case p.R == 5 && p.S == 5:
		return source5x5()
	}
	return sourceDirect()
}
