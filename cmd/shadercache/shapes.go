package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/conv2d"
)

// The kinds of problem, as the prefixes of shapes.
const (
	convKind = "conv2d"
	gemmKind = "gemm"
)

// shapeHelp describes what parseShapes reads.
const shapeHelp = `A SHAPE is one word:
  conv2d:NxCxHxW-K,RxS[,sSTRIDE][,pPAD][,dDILATION][,gGROUPS][,bias][,ACTIVATION]
  gemm:MxNxK[,ta][,tb][,ldaN][,ldbN][,ldcN][,batchN:A:B:C][,alphaX][,betaX]
       [,row-bias|,column-bias][,ACTIVATION]
STRIDE, PAD and DILATION are one number, or two as in s2x1 for rows and columns.
ACTIVATION is relu, tanh, silu or sigmoid. The numbers of a batch are its size and
the elements from one matrix to the next.

The name of a workload stands for its shapes: resnet and seed (convolutions),
square, odd, skinny and epilogue (matrix products).`

// parseShapes reads shapes and names of workloads. Where the kind is known, a shape
// may leave out its prefix, and the other kind is a mistake. Each shape comes once.
func parseShapes(kind string, words []string) ([]conv2d.Shape, error) {
	var shapes []conv2d.Shape
	seen := map[string]bool{}
	for _, word := range words {
		list, err := parseShapeWord(kind, word)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if kind != "" && kindOf(s) != kind {
				return nil, fmt.Errorf("%s is not a problem for %s", word, kind)
			}
			if !seen[s.String()] {
				seen[s.String()] = true
				shapes = append(shapes, s)
			}
		}
	}
	if len(shapes) == 0 {
		return nil, fmt.Errorf("name a shape, or a workload: %s", strings.Join(conv2d.WorkloadNames(), ", "))
	}
	return shapes, nil
}

func parseShapeWord(kind, word string) ([]conv2d.Shape, error) {
	if slices.Contains(conv2d.WorkloadNames(), word) {
		return conv2d.Workload(word)
	}
	if word == "" || !strings.ContainsAny(word[:1], "0123456789") && !strings.Contains(word, ":") {
		return nil, fmt.Errorf("there is no workload %q (there are %s)", word, strings.Join(conv2d.WorkloadNames(), ", "))
	}
	if kind != "" && !strings.HasPrefix(word, convKind+":") && !strings.HasPrefix(word, gemmKind+":") {
		word = kind + ":" + word
	}
	s, err := conv2d.ParseShape(word)
	return []conv2d.Shape{s}, err
}

func kindOf(s conv2d.Shape) string {
	if s.Conv2D != nil {
		return convKind
	}
	return gemmKind
}

// slowestOnCPU is the most operations of a shape that a software driver gets
// without being asked for it by name: a second or two for each run.
const slowestOnCPU = 20e9

// withoutSlowest leaves out what would take a software driver minutes, and says how
// many shapes that were.
func withoutSlowest(shapes []conv2d.Shape, named map[string]bool) (kept []conv2d.Shape, left int) {
	for _, s := range shapes {
		if named[s.String()] || float64(s.FLOPs()) <= slowestOnCPU {
			kept = append(kept, s)
		}
	}
	return kept, len(shapes) - len(kept)
}

var errNoSuchBudget = errors.New("--budget must be above 0 and at most 1h, as in 20s")
