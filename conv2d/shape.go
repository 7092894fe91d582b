package conv2d

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// Shape is a problem of either kind, with one word as its text: on the command line,
// in the rows of a benchmark, and as the key of kept tunings.
//
//	conv2d:NxCxHxW-K,RxS[,sSTRIDE][,pPAD][,dDILATION][,gGROUPS][,bias][,ACTIVATION]
//	gemm:MxNxK[,ta][,tb][,ldaN][,ldbN][,ldcN][,batchN:A:B:C][,alphaX][,betaX]
//	     [,row-bias|,column-bias][,ACTIVATION]
//
// STRIDE, PAD and DILATION are one number, or two as in s2x1 for rows and columns.
// The numbers of a batch are its size and StrideA, StrideB and StrideC. Parts that
// are left out have their default: X is 1 for alpha and 0 for beta.
//
// Exactly one of the fields is set. Shapes of equal problems have equal texts.
type Shape struct {
	Conv2D *Problem
	GEMM   *GEMMProblem
}

const (
	convPrefix = "conv2d:"
	gemmPrefix = "gemm:"
)

// Shape returns the problem as a shape.
func (p Problem) Shape() Shape { return Shape{Conv2D: &p} }

// Shape returns the problem as a shape.
func (p GEMMProblem) Shape() Shape { return Shape{GEMM: &p} }

// computation is what problems of both kinds are.
type computation interface {
	word() string
	Validate() error
	FLOPs() int64
	ReductionLen() int
	sizes() sizes
	keepsOutput() bool

	checkTensors(in kernel.Tensors) error
	elements() int // that are computed: gaps are none
	expectedElement(in kernel.Tensors, n int) (at int, value, magnitude float64)
	outputRows() int
	expectedRow(in kernel.Tensors, row int) (at int, e Expected)
}

// sizes are the elements of the tensors. No bias has 0.
type sizes struct{ input, weights, bias, output int }

// of returns the problem of a valid shape.
func (s Shape) of() computation {
	if s.Conv2D != nil {
		return s.Conv2D
	}
	return s.GEMM
}

// String returns the word. Of an invalid problem it is for messages only.
func (s Shape) String() string { return s.of().word() }

// Validate returns every fault of the problem, joined, or nil.
func (s Shape) Validate() error {
	if (s.Conv2D == nil) == (s.GEMM == nil) {
		return errors.New("conv2d: a shape has one problem, of one kind")
	}
	return s.of().Validate()
}

// FLOPs returns those of the problem.
func (s Shape) FLOPs() int64 { return s.of().FLOPs() }

// canonical returns the problem with its defaults filled in, or left out where that
// is the usual form, so that equal problems are equal.
func (p Problem) canonical() Problem {
	for _, v := range []*int{&p.StrideH, &p.StrideW, &p.DilationH, &p.DilationW, &p.Groups} {
		*v = orOne(*v)
	}
	return p
}

func (p GEMMProblem) canonical() GEMMProblem {
	p.LDA, p.LDB, p.LDC = p.a().gap(), p.b().gap(), p.c().gap()
	if p.Batch = orOne(p.Batch); p.Batch == 1 {
		p.StrideA, p.StrideB, p.StrideC = 0, 0, 0
	}
	return p
}

// gap is the elements from row to row, 0 where that is no more than a row has.
func (s stored) gap() int {
	if s.ld == s.columns {
		return 0
	}
	return s.ld
}

func (p Problem) word() string {
	p = p.canonical()
	return fmt.Sprintf("%s%dx%dx%dx%d-%d,%dx%d", convPrefix, p.N, p.C, p.H, p.W, p.K, p.R, p.S) + textOf(p.parts())
}

func (p GEMMProblem) word() string {
	p = p.canonical()
	return fmt.Sprintf("%s%dx%dx%d", gemmPrefix, p.M, p.N, p.K) + textOf(p.parts())
}

// ParseShape parses the text of String, with the parts behind the sizes in any order,
// each at most once. The problem is valid, and canonical: defaults are filled in.
func ParseShape(text string) (Shape, error) {
	var s Shape
	var err error
	if word, ok := strings.CutPrefix(text, convPrefix); ok {
		s, err = parseConv(word)
	} else if word, ok := strings.CutPrefix(text, gemmPrefix); ok {
		s, err = parseGEMM(word)
	} else {
		err = fmt.Errorf("it starts with neither %q nor %q", convPrefix, gemmPrefix)
	}
	if err != nil {
		return Shape{}, fmt.Errorf("conv2d: shape %q: %w", text, err)
	}
	if err := s.Validate(); err != nil {
		return Shape{}, err
	}
	return s.canonical(), nil
}

func (s Shape) canonical() Shape {
	if s.Conv2D != nil {
		return s.Conv2D.canonical().Shape()
	}
	return s.GEMM.canonical().Shape()
}

func parseConv(word string) (Shape, error) {
	parts := strings.Split(word, ",")
	sizes, filters, ok := strings.Cut(parts[0], "-")
	if !ok || len(parts) < 2 {
		return Shape{}, errors.New("a convolution is NxCxHxW-K,RxS and more")
	}
	var p Problem
	err := errors.Join(
		parseNumbers(sizes, "x", &p.N, &p.C, &p.H, &p.W),
		parseNumbers(filters, "x", &p.K),
		parseNumbers(parts[1], "x", &p.R, &p.S),
		readParts(parts[2:], p.parts()))
	return p.Shape(), err
}

func parseGEMM(word string) (Shape, error) {
	parts := strings.Split(word, ",")
	var p GEMMProblem
	err := errors.Join(parseNumbers(parts[0], "x", &p.M, &p.N, &p.K), readParts(parts[1:], p.parts()))
	return p.Shape(), err
}

// parseNumbers parses exactly one number for each value, in the form of String:
// without signs and leading zeros.
func parseNumbers(text, separator string, values ...*int) error {
	words := strings.Split(text, separator)
	if len(words) != len(values) {
		return fmt.Errorf("%q should be %d numbers with %q between them", text, len(values), separator)
	}
	for i, word := range words {
		v, err := strconv.Atoi(word)
		if err != nil || strconv.Itoa(v) != word || v < 0 {
			return fmt.Errorf("%q is not a number", word)
		}
		*values[i] = v
	}
	return nil
}
