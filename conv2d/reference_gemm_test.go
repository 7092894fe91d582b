package conv2d

import (
	"math"
	"strings"
	"testing"
)

// C is 2x2 with rows 3 apart, everything else is in use: by hand,
// op(A) = [1 2; 3 4], op(B) = [5 6; 7 8], product [19 22; 43 50].
func TestReferenceGEMMWithEverything(t *testing.T) {
	p := GEMMProblem{
		M: 2, N: 2, K: 2, TransA: true, TransB: true, LDA: 3, LDB: 2, LDC: 3,
		Batch: 2, StrideA: 0, StrideB: 4, StrideC: 6, Factors: AlphaBeta(2, -1), Bias: ColumnBias, Activation: ReLU,
	}
	in := GEMMTensors{
		A:    []float32{1, 3, -9, 2, 4},
		B:    []float32{5, 7, 6, 8, -5, -7, -6, -8},
		C:    []float32{1, 2, 77, 3, 4, 77, 0, 0, 77, 0, 0},
		Bias: []float32{10, 20},
	}
	got := ReferenceGEMM(p, in)
	want := []float64{38 - 1 + 10, 44 - 2 + 20, 77, 86 - 3 + 10, 100 - 4 + 20, 77, 0, 0, 77, 0, 0}
	for i := range want {
		if got.Values[i] != want[i] {
			t.Errorf("element %d is %v, want %v", i, got.Values[i], want[i])
		}
	}
	if got.Magnitudes[0] != 38+1+10 {
		t.Errorf("magnitude is %v", got.Magnitudes[0])
	}
}

func TestGEMMProblemListsEveryFault(t *testing.T) {
	p := GEMMProblem{
		M: 4, N: 4, K: 4, LDA: 3, LDC: -1, Batch: -2, StrideB: -1,
		Factors: AlphaBeta(float32(math.Inf(1)), 0), Bias: 9, Activation: 77,
	}
	err := p.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"LDA is 3", "LDC is -1", "Batch is -2", "StrideB is -1", "Alpha", "Bias(9)", "Activation(77)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	overlapping := GEMMProblem{M: 2, N: 2, K: 1, Batch: 2, StrideC: 3}
	if err := overlapping.Validate(); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("error is %v", err)
	}
}

func TestGroupsOfAConvolution(t *testing.T) {
	p := Problem{N: 1, C: 4, H: 1, W: 1, K: 2, R: 1, S: 1, Groups: 2, Activation: ReLU}
	got := ReferenceConv2D(p, []float32{1, 2, 3, 4}, []float32{1, 10, -1, -10}, nil)
	if got.Values[0] != 21 || got.Values[1] != 0 || got.Magnitudes[1] != 43 {
		t.Errorf("got %v", got)
	}
	err := Problem{N: 1, C: 4, H: 1, W: 1, K: 3, R: 1, S: 1, Groups: 3}.Validate()
	if err == nil || !strings.Contains(err.Error(), "C is 4, not divisible by 3 groups") {
		t.Errorf("error is %v", err)
	}
	if text := p.String(); !strings.Contains(text, "g2 relu") {
		t.Errorf("String is %q", text)
	}
}
