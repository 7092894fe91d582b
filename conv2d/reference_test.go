package conv2d

import (
	"math"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// naiveConv2D is the definition, element by element over a padded copy.
func naiveConv2D(p Problem, input, weights, bias []float32) []float64 {
	padH, padW := p.H+2*p.PadH, p.W+2*p.PadW
	padded := make([]float64, p.N*p.C*padH*padW)
	for plane := range p.N * p.C {
		for y := range p.H {
			for x := range p.W {
				padded[(plane*padH+y+p.PadH)*padW+x+p.PadW] = float64(input[(plane*p.H+y)*p.W+x])
			}
		}
	}
	stepH, stepW := max(p.StrideH, 1), max(p.StrideW, 1)
	acrossH, acrossW := max(p.DilationH, 1), max(p.DilationW, 1)
	var out []float64
	for n := range p.N {
		for k := range p.K {
			for top := 0; top+(p.R-1)*acrossH < padH; top += stepH {
				for left := 0; left+(p.S-1)*acrossW < padW; left += stepW {
					sum := 0.0
					for c := range p.C {
						for r := range p.R {
							for s := range p.S {
								sum += padded[((n*p.C+c)*padH+top+r*acrossH)*padW+left+s*acrossW] *
									float64(weights[((k*p.C+c)*p.R+r)*p.S+s])
							}
						}
					}
					if bias != nil {
						sum += float64(bias[k])
					}
					out = append(out, sum)
				}
			}
		}
	}
	return out
}

func TestReferenceConv2DAgainstTheDefinition(t *testing.T) {
	problems := []Problem{
		{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1},
		{N: 1, C: 3, H: 32, W: 32, K: 16, R: 3, S: 3},
		{N: 2, C: 3, H: 7, W: 5, K: 4, R: 3, S: 2, StrideH: 2, StrideW: 3, PadH: 1, PadW: 2},
		{N: 1, C: 2, H: 3, W: 3, K: 2, R: 2, S: 2, PadH: 4, PadW: 5},
		{N: 3, C: 2, H: 11, W: 13, K: 2, R: 3, S: 3, StrideH: 4, StrideW: 5, DilationH: 2, DilationW: 3},
	}
	for _, p := range problems {
		input, weights := RandomValues(p.InputLen(), 1), RandomValues(p.WeightsLen(), 2)
		for _, bias := range [][]float32{nil, RandomValues(p.K, 3)} {
			got := ReferenceConv2D(p, input, weights, bias)
			want := naiveConv2D(p, input, weights, bias)
			if len(got.Values) != len(want) {
				t.Fatalf("%v: %d elements, want %d", p, len(got.Values), len(want))
			}
			for i := range want {
				if math.Abs(got.Values[i]-want[i]) > 1e-12 || got.Magnitudes[i]+1e-12 < math.Abs(want[i]) {
					t.Fatalf("%v: element %d is %v of magnitude %v, want %v", p, i, got.Values[i], got.Magnitudes[i], want[i])
				}
			}
		}
	}
}

func TestReferenceIgnoresPaddingUnderInfiniteWeights(t *testing.T) {
	p := Problem{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 3, PadW: 1}
	inf := float32(math.Inf(1))
	got := ReferenceConv2D(p, []float32{2}, []float32{inf, 3, inf}, nil)
	if got.Values[0] != 6 {
		t.Errorf("got %v, want 6", got.Values[0])
	}
}

func TestReferenceGEMM(t *testing.T) {
	p := GEMMProblem{M: 2, N: 3, K: 2}
	got := ReferenceGEMM(p, GEMMTensors{A: []float32{1, 2, -3, 4}, B: []float32{5, 6, 7, 8, 9, -10}})
	if want := []float64{21, 24, -13, 17, 18, -61}; !slices.Equal(got.Values, want) {
		t.Errorf("got %v, want %v", got.Values, want)
	}
	if want := []float64{21, 24, 27, 47, 54, 61}; !slices.Equal(got.Magnitudes, want) {
		t.Errorf("magnitudes are %v, want %v", got.Magnitudes, want)
	}
	p.Factors, p.Activation = AlphaBeta(2, 0), ReLU
	relu := ReferenceGEMM(p, GEMMTensors{A: []float32{1, 2, -3, 4}, B: []float32{5, 6, 7, 8, 9, -10}})
	if want := []float64{42, 48, 0, 34, 36, 0}; !slices.Equal(relu.Values, want) {
		t.Errorf("got %v, want %v", relu.Values, want)
	}
}

// A convolution with 1x1 filters is a matrix product of weights and input.
func TestReferencesAgree(t *testing.T) {
	p := Problem{N: 1, C: 5, H: 4, W: 6, K: 7, R: 1, S: 1}
	input, weights := RandomValues(p.InputLen(), 4), RandomValues(p.WeightsLen(), 5)
	conv := ReferenceConv2D(p, input, weights, nil)
	gemm := ReferenceGEMM(GEMMProblem{M: p.K, N: p.H * p.W, K: p.C}, GEMMTensors{A: weights, B: input})
	if !slices.Equal(conv.Values, gemm.Values) {
		t.Error("they differ")
	}
}

func TestReferencePanicsOnWrongLengths(t *testing.T) {
	defer func() {
		if got := recover(); got != "conv2d: weights has 8 elements, the problem needs 9" {
			t.Errorf("panic is %v", got)
		}
	}()
	ReferenceConv2D(Problem{N: 1, C: 1, H: 3, W: 3, K: 1, R: 3, S: 3}, make([]float32, 9), make([]float32, 8), nil)
}

func TestActivations(t *testing.T) {
	tests := []struct {
		activation Activation
		x, want    float64
	}{
		{None, -2, -2}, {ReLU, -2, 0}, {ReLU, 2, 2}, {Tanh, 0, 0}, {Tanh, 1, 0.7615941559557649},
		{SiLU, 0, 0}, {SiLU, 1, 0.7310585786300049}, {SiLU, -1000, 0}, {Tanh, 1000, 1},
	}
	for _, test := range tests {
		if got := test.activation.Apply(test.x); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v(%v) is %v, want %v", test.activation, test.x, got, test.want)
		}
	}
	for _, a := range []Activation{None, ReLU, Tanh, SiLU, Sigmoid} {
		if got := a.Apply(math.NaN()); !math.IsNaN(got) {
			t.Errorf("%v(NaN) is %v", a, got)
		}
	}
	if got := Activation(9).String(); got != "Activation(9)" {
		t.Errorf("got %q", got)
	}
}

// plain is a product without gaps, once.
func plain(m, n, k int) GEMMProblem { return GEMMProblem{M: m, N: n, K: k} }

// TestReferenceOfAnElement compares whole references, which sum up rows, with those of single
// elements, to the bit.
func TestReferenceOfAnElement(t *testing.T) {
	for _, s := range []Shape{
		Problem{N: 2, C: 4, H: 9, W: 21, K: 6, R: 3, S: 3, PadH: 1, PadW: 1, Groups: 2, Bias: true, Activation: Tanh}.Shape(),
		Problem{N: 1, C: 3, H: 5, W: 6, K: 2, R: 2, S: 3, PadW: 9, DilationW: 4, StrideH: 2, Bias: true}.Shape(),
		Problem{N: 1, C: 2, H: 7, W: 19, K: 2, R: 3, S: 3, StrideW: 2, PadW: 1, Bias: true}.Shape(),
		GEMMProblem{M: 5, N: 23, K: 31, LDB: 29, Bias: ColumnBias}.Shape(),
		GEMMProblem{M: 4, N: 7, K: 12, TransA: true, TransB: true}.Shape(),
		GEMMProblem{M: 3, N: 18, K: 9, Batch: 2, StrideA: 27, StrideB: 162, StrideC: 54, Factors: AlphaBeta(-2, 0)}.Shape(),
	} {
		p := s.of()
		n := p.sizes()
		in := kernel.Tensors{Input: RandomValues(n.input, 1), Weights: RandomValues(n.weights, 2), Bias: RandomValues(n.bias, 3)}
		e := s.reference(in)
		for i := range p.elements() {
			if at, value, magnitude := p.expectedElement(in, i); value != e.Values[at] || magnitude != e.Magnitudes[at] {
				t.Fatalf("%v: element %d is %v of magnitude %v, alone %v of %v", p, i, e.Values[at], e.Magnitudes[at], value, magnitude)
			}
		}
	}
}
