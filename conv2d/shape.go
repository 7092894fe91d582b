package conv2d

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// String returns the word. Of an invalid problem it is for messages only.
func (s Shape) String() string {
	if s.Conv2D != nil {
		return s.Conv2D.word()
	}
	return s.GEMM.word()
}

// Validate returns every fault of the problem, joined, or nil.
func (s Shape) Validate() error {
	switch {
	case (s.Conv2D == nil) == (s.GEMM == nil):
		return errors.New("conv2d: a shape has one problem, of one kind")
	case s.Conv2D != nil:
		return s.Conv2D.Validate()
	}
	return s.GEMM.Validate()
}

// FLOPs returns those of the problem.
func (s Shape) FLOPs() int64 {
	if s.Conv2D != nil {
		return s.Conv2D.FLOPs()
	}
	return s.GEMM.FLOPs()
}

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
	text := fmt.Sprintf("%s%dx%dx%dx%d-%d,%dx%d", convPrefix, p.N, p.C, p.H, p.W, p.K, p.R, p.S)
	text += pair(",s", p.StrideH, p.StrideW, 1)
	text += pair(",p", p.PadH, p.PadW, 0)
	text += pair(",d", p.DilationH, p.DilationW, 1)
	text += pair(",g", p.Groups, p.Groups, 1)
	if p.Bias {
		text += ",bias"
	}
	return text + p.Activation.word()
}

// pair names two values, once where they are equal, and not at all where both have
// the usual value.
func pair(name string, h, w, usual int) string {
	switch {
	case h == usual && w == usual:
		return ""
	case h == w:
		return fmt.Sprintf("%s%d", name, h)
	}
	return fmt.Sprintf("%s%dx%d", name, h, w)
}

func (p GEMMProblem) word() string {
	p = p.canonical()
	text := fmt.Sprintf("%s%dx%dx%d", gemmPrefix, p.M, p.N, p.K)
	for _, part := range []struct {
		set  bool
		text string
	}{
		{p.TransA, ",ta"},
		{p.TransB, ",tb"},
		{p.LDA != 0, fmt.Sprintf(",lda%d", p.LDA)},
		{p.LDB != 0, fmt.Sprintf(",ldb%d", p.LDB)},
		{p.LDC != 0, fmt.Sprintf(",ldc%d", p.LDC)},
		{p.Batch != 1, fmt.Sprintf(",batch%d:%d:%d:%d", p.Batch, p.StrideA, p.StrideB, p.StrideC)},
		{p.alpha() != 1, ",alpha" + floatWord(p.alpha())},
		{p.beta() != 0, ",beta" + floatWord(p.beta())},
		{p.Bias != NoBias, "," + p.Bias.String()},
	} {
		if part.set {
			text += part.text
		}
	}
	return text + p.Activation.word()
}

func floatWord(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }

// word returns the activation as the end of a shape.
func (a Activation) word() string {
	if a == None {
		return ""
	}
	return "," + a.String()
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
		eachPart(parts[2:], p.part))
	return p.Shape(), err
}

// part parses one part of a convolution behind its sizes and returns its name.
func (p *Problem) part(text string) (name string, err error) {
	if a, ok := parseActivation(text); ok {
		p.Activation = a
		return "activation", nil
	}
	if text == "bias" {
		p.Bias = true
		return text, nil
	}
	for letter, values := range map[string][2]*int{
		"s": {&p.StrideH, &p.StrideW}, "p": {&p.PadH, &p.PadW}, "d": {&p.DilationH, &p.DilationW},
	} {
		if number, ok := strings.CutPrefix(text, letter); ok {
			if strings.Contains(number, "x") {
				return letter, parseNumbers(number, "x", values[0], values[1])
			}
			err := parseNumbers(number, "x", values[0])
			*values[1] = *values[0]
			return letter, err
		}
	}
	if number, ok := strings.CutPrefix(text, "g"); ok {
		return "g", parseNumbers(number, "x", &p.Groups)
	}
	return "", fmt.Errorf("there is no %q", text)
}

func parseGEMM(word string) (Shape, error) {
	parts := strings.Split(word, ",")
	var p GEMMProblem
	err := errors.Join(parseNumbers(parts[0], "x", &p.M, &p.N, &p.K), eachPart(parts[1:], p.part))
	return p.Shape(), err
}

// part parses one part of a matrix product behind its sizes and returns its name.
func (p *GEMMProblem) part(text string) (name string, err error) {
	if a, ok := parseActivation(text); ok {
		p.Activation = a
		return "activation", nil
	}
	switch text {
	case "ta":
		p.TransA = true
		return text, nil
	case "tb":
		p.TransB = true
		return text, nil
	case RowBias.String():
		p.Bias = RowBias
		return "bias", nil
	case ColumnBias.String():
		p.Bias = ColumnBias
		return "bias", nil
	}
	for name, v := range map[string]*int{"lda": &p.LDA, "ldb": &p.LDB, "ldc": &p.LDC} {
		if number, ok := strings.CutPrefix(text, name); ok {
			return name, parseNumbers(number, "x", v)
		}
	}
	if number, ok := strings.CutPrefix(text, "alpha"); ok {
		alpha, err := parseFactor(number)
		p.Factors = AlphaBeta(alpha, p.beta())
		return "alpha", err
	}
	if number, ok := strings.CutPrefix(text, "beta"); ok {
		beta, err := parseFactor(number)
		p.Factors = AlphaBeta(p.alpha(), beta)
		return "beta", err
	}
	if number, ok := strings.CutPrefix(text, "batch"); ok {
		return "batch", parseNumbers(number, ":", &p.Batch, &p.StrideA, &p.StrideB, &p.StrideC)
	}
	return "", fmt.Errorf("there is no %q", text)
}

// eachPart parses parts and fails for one that is there twice.
func eachPart(parts []string, read func(text string) (name string, err error)) error {
	seen := map[string]bool{}
	for _, part := range parts {
		name, err := read(part)
		if err == nil && seen[name] {
			err = fmt.Errorf("%s is there twice", name)
		}
		if err != nil {
			return err
		}
		seen[name] = true
	}
	return nil
}

func parseActivation(text string) (Activation, bool) {
	for _, a := range allActivations() {
		if a != None && a.String() == text {
			return a, true
		}
	}
	return None, false
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

func parseFactor(text string) (float32, error) {
	v, err := strconv.ParseFloat(text, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return float32(v), nil
}
