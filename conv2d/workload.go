package conv2d

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
)

// workloadLines has the name of a workload and a shape on each line:
//
//	resnet    14 convolutions of ResNet, for 1 and 32 images, with 3x3 at 224x224
//	seed      12 convolutions that the project began with
//	square    matrix products of 512 to 8192 in every dimension
//	odd       matrix products of 1, 17, 129, 1000 and 1031 in every dimension
//	skinny    matrix products with one short side
//	epilogue  a matrix product of 1024 with each of its options
//
//go:embed workloads.txt
var workloadLines string

// workloads returns the shapes of each workload.
func workloads() map[string][]Shape {
	named := map[string][]Shape{}
	for line := range strings.Lines(workloadLines) {
		name, word, _ := strings.Cut(strings.TrimSpace(line), " ")
		s, err := ParseShape(word)
		if err != nil {
			panic(err) // of a file of this package
		}
		named[name] = append(named[name], s)
	}
	return named
}

// WorkloadNames returns the names of the workloads, sorted.
func WorkloadNames() []string { return slices.Sorted(maps.Keys(workloads())) }
