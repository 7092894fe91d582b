//go:build linux

package conv2d

import (
	"math"
	"slices"
)

// SampleSide is the side of the pictures that SampleNetwork takes, one channel of
// numbers from 0 to 1 each.
const SampleSide = 32

// SampleNetwork returns a small network of every kind of layer, with weights that are
// always the same: for examples, and for tests that a second process finds the
// programs of the first. It takes N pictures of 32 x 32 and makes ten numbers of
// each.
//
//	layer   what                                  output of a picture
//	edges   8 Gabor filters of 5x5, bias, relu    8 x 28 x 28
//	half    mean of 2x2, each channel alone       8 x 14 x 14
//	mix     3x3, bias, silu                       16 x 14 x 14
//	corners 3x3 with stride 2 and dilation 2      16 x 5 x 5
//	wide    matrix product, bias, tanh            64
//	out     matrix product, bias, sigmoid         10
//
// The Gabor filters find edges in eight directions, so that the output of the first
// layer can be viewed as pictures; the other weights are random numbers of a fixed
// seed.
func SampleNetwork(pictures int) []Layer {
	n := pictures
	conv := func(name string, p Problem, weights []float32) Layer {
		l := Layer{Name: name, Shape: p.Shape(), Weights: weights}
		if p.Bias {
			l.Bias = scaled(RandomValues(p.K, uint64(100+p.C)), 0.1)
		}
		return l
	}
	edges := Problem{N: n, C: 1, H: SampleSide, W: SampleSide, K: 8, R: 5, S: 5, Bias: true, Activation: ReLU}
	half := Problem{N: n, C: 8, H: 28, W: 28, K: 8, R: 2, S: 2, StrideH: 2, StrideW: 2, Groups: 8}
	mix := Problem{N: n, C: 8, H: 14, W: 14, K: 16, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: SiLU}
	corners := Problem{N: n, C: 16, H: 14, W: 14, K: 16, R: 3, S: 3, StrideH: 2, StrideW: 2, DilationH: 2, DilationW: 2}
	wide := GEMMProblem{M: n, N: 64, K: 16 * 5 * 5, Bias: ColumnBias, Activation: Tanh}
	out := GEMMProblem{M: n, N: 10, K: 64, TransB: true, Bias: ColumnBias, Activation: Sigmoid}
	return []Layer{
		conv("edges", edges, gabor(8, 5)),
		conv("half", half, slices.Repeat([]float32{0.25}, half.WeightsLen())),
		conv("mix", mix, scaled(RandomValues(mix.WeightsLen(), 1), 0.5)),
		conv("corners", corners, scaled(RandomValues(corners.WeightsLen(), 2), 0.5)),
		{Name: "wide", Shape: wide.Shape(), Weights: scaled(RandomValues(wide.BLen(), 3), 0.25), Bias: RandomValues(wide.N, 4)},
		{Name: "out", Shape: out.Shape(), Weights: RandomValues(out.BLen(), 5), Bias: RandomValues(out.N, 6)},
	}
}

// gabor returns filters that find edges in directions directions: a sine across the
// edge under a bell curve, sin(2 pi u / side) * exp(-(x*x + y*y) / (side/2)^2), where
// u is the distance across.
func gabor(directions, side int) []float32 {
	weights := make([]float32, 0, directions*side*side)
	middle := float64(side-1) / 2
	for d := range directions {
		sine, cosine := math.Sincos(2 * math.Pi * float64(d) / float64(directions))
		for r := range side {
			for s := range side {
				x, y := float64(s)-middle, float64(r)-middle
				across := x*cosine + y*sine
				bell := math.Exp(-(x*x + y*y) / (float64(side*side) / 4))
				weights = append(weights, float32(bell*math.Sin(2*math.Pi*across/float64(side))))
			}
		}
	}
	return weights
}

func scaled(values []float32, factor float32) []float32 {
	for i := range values {
		values[i] *= factor
	}
	return values
}
