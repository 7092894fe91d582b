//go:build linux

package conv2d

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// Layer is one problem of a plan, with its weights. The output of a layer is the
// input of the next, element by element: a matrix product reads the output of a
// convolution for N images as N rows. Where the first layer has no Weights, those of all are
// set later, by Plan.SetWeights; else they have the version math.MaxUint64.
type Layer struct {
	Name          string // in errors; "": its shape
	Shape         Shape
	Weights, Bias []float32
	Choice        *Choice // the algorithm; nil: that of the options
}

func (l Layer) name() string { return cmp.Or(l.Name, l.Shape.String()) }

// err returns an error of the layer.
func (l Layer) err(err error) error { return fmt.Errorf("conv2d: layer %s: %w", l.name(), err) }

// ParseLayer reads a layer without weights from one line of text: its shape and, where the
// writer makes the choice, a space and the choice as JSON. It fails for a shape that is
// not valid; whether an algorithm takes the parameters is known when a plan is made. The
// text may be untrusted.
func ParseLayer(line string) (Layer, error) {
	word, choice, chosen := strings.Cut(strings.TrimSpace(line), " ")
	shape, err := ParseShape(word)
	if err != nil {
		return Layer{}, err
	}
	l := Layer{Shape: shape}
	if !chosen {
		return l, nil
	}
	l.Choice = &Choice{}
	if err := json.Unmarshal([]byte(choice), l.Choice); err != nil {
		return Layer{}, fmt.Errorf("conv2d: the choice of %s: %w", word, err)
	}
	return l, nil
}

// Spec returns the text that ParseLayer reads. Equal layers have equal texts.
func (l Layer) Spec() string {
	if l.Choice == nil {
		return l.Shape.String()
	}
	choice, _ := json.Marshal(l.Choice) // a name and numbers
	return l.Shape.String() + " " + string(choice)
}

// ReferenceLayers computes valid layers on the CPU with float64 sums. Compare a result
// with it under a tolerance of 1: the magnitudes are the errors that each element may
// have. Each layer has the error of its tolerance, and passes on the errors of its inputs
// as if these were independent, which rounding errors are: squares add up.
func ReferenceLayers(layers []Layer, tolerances []float64, input []float32) Expected {
	values, squares := input, make([]float32, len(input))
	var e Expected
	for i, l := range layers {
		e = l.Shape.reference(kernel.Tensors{Input: values, Weights: l.Weights, Bias: l.Bias})
		passed := l.passedOn(squares)
		values, squares = make([]float32, len(e.Values)), make([]float32, len(e.Values))
		for k := range e.Values {
			own := tolerances[i] * e.Magnitudes[k]
			e.Magnitudes[k] = math.Sqrt(own*own + passed[k])
			values[k] = float32(e.Values[k])
			squares[k] = float32(e.Magnitudes[k] * e.Magnitudes[k])
		}
	}
	return e
}

// steepest is more than the slope of any activation.
const steepest = 1.1

// passedOn returns the squares of the errors of a layer's outputs that come from
// errors of its inputs, given as squares.
func (l Layer) passedOn(squares []float32) []float64 {
	factor := float32(steepest)
	if g := l.Shape.GEMM; g != nil {
		factor *= g.alpha()
	}
	squared := make([]float32, len(l.Weights))
	for i, w := range l.Weights {
		squared[i] = factor * w * factor * w
	}
	return l.Shape.plain().reference(kernel.Tensors{Input: squares, Weights: squared}).Values
}
