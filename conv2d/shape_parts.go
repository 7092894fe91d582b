package conv2d

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// shapePart is a part of a shape behind its sizes.
type shapePart struct {
	name  string                          // a shape has one of it
	text  string                          // of the problem
	usual string                          // the text that is left out
	read  func(text string) (bool, error) // sets it in the problem; false for the text of another part
}

// parts returns the parts of a convolution, in the order of String.
func (p *Problem) parts() []shapePart {
	return []shapePart{
		numbersPart("s", "x", "1", &p.StrideH, &p.StrideW),
		numbersPart("p", "x", "0", &p.PadH, &p.PadW),
		numbersPart("d", "x", "1", &p.DilationH, &p.DilationW),
		numbersPart("g", "x", "1", &p.Groups),
		flagPart("bias", &p.Bias),
		namePart("activation", &p.Activation, Sigmoid),
	}
}

// parts returns the parts of a matrix product, in the order of String.
func (p *GEMMProblem) parts() []shapePart {
	return []shapePart{
		flagPart("ta", &p.TransA),
		flagPart("tb", &p.TransB),
		numbersPart("lda", "x", "0", &p.LDA),
		numbersPart("ldb", "x", "0", &p.LDB),
		numbersPart("ldc", "x", "0", &p.LDC),
		numbersPart("batch", ":", "1:0:0:0", &p.Batch, &p.StrideA, &p.StrideB, &p.StrideC),
		factorPart("alpha", p.alpha(), 1, func(v float32) { p.Factors = AlphaBeta(v, p.beta()) }),
		factorPart("beta", p.beta(), 0, func(v float32) { p.Factors = AlphaBeta(p.alpha(), v) }),
		namePart("bias", &p.Bias, ColumnBias),
		namePart("activation", &p.Activation, Sigmoid),
	}
}

func flagPart(name string, v *bool) shapePart {
	part := shapePart{name: name, read: func(text string) (bool, error) {
		*v = *v || text == name
		return text == name, nil
	}}
	if *v {
		part.text = name
	}
	return part
}

// namePart is one of the names of the values up to last. 0 is usual.
func namePart[T interface {
	~int
	String() string
}](name string, v *T, last T) shapePart {
	return shapePart{name, (*v).String(), T(0).String(), func(text string) (bool, error) {
		for value := T(1); value <= last; value++ {
			if value.String() == text {
				*v = value
				return true, nil
			}
		}
		return false, nil
	}}
}

// numbersPart is numbers behind a name. With x between them, equal ones are one.
func numbersPart(name, between, usual string, values ...*int) shapePart {
	var words []string
	for _, v := range values {
		words = append(words, strconv.Itoa(*v))
	}
	if between == "x" {
		words = slices.Compact(words)
	}
	return shapePart{name, name + strings.Join(words, between), name + usual, func(text string) (bool, error) {
		numbers, ok := strings.CutPrefix(text, name)
		if !ok {
			return false, nil
		}
		if between == "x" && !strings.Contains(numbers, between) {
			numbers = strings.Join(slices.Repeat([]string{numbers}, len(values)), between)
		}
		return true, parseNumbers(numbers, between, values...)
	}}
}

func factorPart(name string, v, usual float32, set func(float32)) shapePart {
	word := func(v float32) string { return name + strconv.FormatFloat(float64(v), 'g', -1, 32) }
	return shapePart{name, word(v), word(usual), func(text string) (bool, error) {
		number, ok := strings.CutPrefix(text, name)
		if !ok {
			return false, nil
		}
		v, err := strconv.ParseFloat(number, 32)
		if err != nil {
			return true, fmt.Errorf("%q is not a number", number)
		}
		set(float32(v))
		return true, nil
	}}
}

func textOf(parts []shapePart) (text string) {
	for _, part := range parts {
		if part.text != part.usual {
			text += "," + part.text
		}
	}
	return text
}

// readParts sets the parts of words, each at most once.
func readParts(words []string, parts []shapePart) error {
	seen := map[string]bool{}
	for _, word := range words {
		name, err := readPart(word, parts)
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

// readPart sets the part of a word and returns its name. Names come before the letters that
// they begin with: parts are tried from the last.
func readPart(word string, parts []shapePart) (name string, err error) {
	for _, part := range slices.Backward(parts) {
		if ok, err := part.read(word); ok {
			return part.name, err
		}
	}
	return "", fmt.Errorf("there is no %q", word)
}
