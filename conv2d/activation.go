package conv2d

import (
	"fmt"
	"math"
	"strings"
)

// Activation is the function that is applied to each element of a result.
type Activation int

// The activations. Each passes NaN on.
const (
	None    Activation = iota // x
	ReLU                      // 0 where x < 0, else x
	Tanh                      // tanh x
	SiLU                      // x / (1 + exp -x)
	Sigmoid                   // 1 / (1 + exp -x)
)

var activationWords = [...]string{None: "none", ReLU: "relu", Tanh: "tanh", SiLU: "silu", Sigmoid: "sigmoid"}

func (a Activation) valid() bool { return a >= 0 && int(a) < len(activationWords) }

// define is the activation as a kernel takes it.
func (a Activation) define() string { return "ACTIVATION_" + strings.ToUpper(a.String()) }

// String is none, relu, tanh, silu or sigmoid.
func (a Activation) String() string {
	if !a.valid() {
		return fmt.Sprintf("Activation(%d)", int(a))
	}
	return activationWords[a]
}

// Apply computes the activation of x as the kernels do, in float64. It panics
// for an activation that does not exist.
func (a Activation) Apply(x float64) float64 {
	switch a {
	case None:
		return x
	case ReLU:
		if x < 0 {
			return 0
		}
		return x
	case Tanh:
		return math.Tanh(x)
	case SiLU:
		return x / (1 + math.Exp(-x))
	case Sigmoid:
		return 1 / (1 + math.Exp(-x))
	}
	panic(fmt.Sprintf("conv2d: there is no %v", a))
}

// magnitude returns the magnitude of the numbers that the activation of x computes
// with, for a sum x of products of the given magnitude: rounding errors are relative
// to it.
func (a Activation) magnitude(magnitude float64) float64 {
	switch a {
	case Tanh: // 1 +- exp(-2|x|), and its slope is at most 1
		return magnitude + 1
	case SiLU: // its slope is at most 1.1
		return 1.1 * magnitude
	case Sigmoid: // 1 + exp(-x), and its slope is at most 1/4
		return magnitude/4 + 1
	}
	return magnitude
}
