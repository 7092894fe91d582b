package conv2d

import (
	"fmt"
	"strings"
)

// The kinds of problem, as the prefixes of shapes.
const (
	Conv2DKind = "conv2d"
	GEMMKind   = "gemm"
)

// Kind returns the prefix of the shape.
func (s Shape) Kind() string {
	if s.Conv2D != nil {
		return Conv2DKind
	}
	return GEMMKind
}

// ParseShapes reads shapes and names of workloads. With a kind, shapes may leave out
// their prefix, and a shape of the other kind is an error. Each shape is returned once.
func ParseShapes(kind string, words []string) ([]Shape, error) {
	var shapes []Shape
	seen := map[string]bool{}
	for _, word := range words {
		list, err := ParseShapeWord(kind, word)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if kind != "" && s.Kind() != kind {
				return nil, fmt.Errorf("%s is not a problem for %s", word, kind)
			}
			if !seen[s.String()] {
				seen[s.String()] = true
				shapes = append(shapes, s)
			}
		}
	}
	if len(shapes) == 0 {
		return nil, fmt.Errorf("name a shape, or a workload: %s", strings.Join(WorkloadNames(), ", "))
	}
	return shapes, nil
}

// ParseShapeWord reads one shape, or the name of a workload, as ParseShapes does.
func ParseShapeWord(kind, word string) ([]Shape, error) {
	if list, ok := workloads()[word]; ok {
		return list, nil
	}
	if word == "" || !strings.ContainsAny(word[:1], "0123456789") && !strings.Contains(word, ":") {
		return nil, fmt.Errorf("there is no workload %q (there are %s)", word, strings.Join(WorkloadNames(), ", "))
	}
	if kind != "" && !strings.HasPrefix(word, convPrefix) && !strings.HasPrefix(word, gemmPrefix) {
		word = kind + ":" + word
	}
	s, err := ParseShape(word)
	return []Shape{s}, err
}
