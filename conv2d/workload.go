package conv2d

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// namedWorkloads are lists of problems that have a name.
var namedWorkloads = map[string]func() []Shape{
	"resnet":   resnet,
	"seed":     seedShapes,
	"square":   func() []Shape { return cubes(512, 1024, 2048, 4096, 8192) },
	"odd":      func() []Shape { return cubes(1, 17, 129, 1000, 1031) },
	"skinny":   skinny,
	"epilogue": epilogues,
}

// WorkloadNames returns the names of the workloads, sorted.
func WorkloadNames() []string { return slices.Sorted(maps.Keys(namedWorkloads)) }

// workload returns a list of problems by its name:
//
//	resnet    14 convolutions of ResNet, for 1 and 32 images, with 3x3 at 224x224
//	seed      12 convolutions that the project began with
//	square    matrix products of 512 to 8192 in every dimension
//	odd       matrix products of 1, 17, 129, 1000 and 1031 in every dimension
//	skinny    matrix products with one short side
//	epilogue  a matrix product of 1024 with each of its options
func workload(name string) ([]Shape, error) {
	list, ok := namedWorkloads[name]
	if !ok {
		return nil, fmt.Errorf("conv2d: there is no workload %q (there are %s)", name, strings.Join(WorkloadNames(), ", "))
	}
	return list(), nil
}

// square is a convolution with square images, filters, strides and padding.
func square(n, c, side, k, filter, stride, pad int) Shape {
	return Problem{
		N: n, C: c, H: side, W: side, K: k, R: filter, S: filter,
		StrideH: stride, StrideW: stride, PadH: pad, PadW: pad,
	}.Shape()
}

func resnet() []Shape {
	var list []Shape
	for _, n := range []int{1, 32} {
		list = append(list,
			square(n, 3, 224, 64, 7, 2, 3),
			square(n, 64, 56, 64, 3, 1, 1),
			square(n, 128, 28, 128, 3, 1, 1),
			square(n, 256, 14, 256, 3, 1, 1),
			square(n, 512, 7, 512, 3, 1, 1),
			square(n, 256, 56, 64, 1, 1, 0))
	}
	return append(list, square(1, 64, 224, 64, 3, 1, 1), square(4, 64, 224, 64, 3, 1, 1))
}

func seedShapes() []Shape {
	return []Shape{
		square(1, 3, 224, 64, 7, 2, 3),
		square(4, 3, 224, 64, 7, 2, 3),
		square(1, 128, 28, 256, 3, 1, 1),
		square(1, 64, 56, 256, 3, 1, 1),
		square(1, 64, 56, 128, 3, 1, 1),
		square(1, 3, 224, 64, 3, 1, 1),
		square(8, 256, 56, 256, 3, 1, 1),
		square(32, 512, 14, 512, 3, 1, 1),
		square(64, 512, 7, 512, 1, 1, 0),
		square(16, 128, 28, 256, 5, 2, 2),
		square(128, 64, 32, 128, 3, 1, 1),
		square(1, 3, 32, 16, 3, 1, 0),
	}
}

func cubes(sides ...int) []Shape {
	var list []Shape
	for _, n := range sides {
		list = append(list, GEMMProblem{M: n, N: n, K: n}.Shape())
	}
	return list
}

func skinny() []Shape {
	return []Shape{
		GEMMProblem{M: 16, N: 900, K: 27}.Shape(),
		GEMMProblem{M: 1, N: 4096, K: 4096}.Shape(),
		GEMMProblem{M: 4096, N: 64, K: 4096}.Shape(),
	}
}

func epilogues() []Shape {
	const n = 1024
	return []Shape{
		GEMMProblem{M: n, N: n, K: n, TransA: true}.Shape(),
		GEMMProblem{M: n, N: n, K: n, TransB: true}.Shape(),
		GEMMProblem{M: n, N: n, K: n, TransA: true, TransB: true}.Shape(),
		GEMMProblem{M: n, N: n, K: n, Factors: AlphaBeta(1.5, 0.5)}.Shape(),
		GEMMProblem{M: n, N: n, K: n, Bias: ColumnBias, Activation: ReLU}.Shape(),
	}
}
