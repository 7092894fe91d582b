package conv2d

import (
	"strings"
	"testing"
)

func TestShapes(t *testing.T) {
	for text, want := range map[string]Shape{
		"conv2d:1x3x224x224-64,7x7,s2,p3": Problem{
			N: 1, C: 3, H: 224, W: 224, K: 64, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3,
			DilationH: 1, DilationW: 1, Groups: 1,
		}.Shape(),
		"conv2d:2x4x9x8-8,3x1,s1x2,p2x0,d2x1,g4,bias,silu": Problem{
			N: 2, C: 4, H: 9, W: 8, K: 8, R: 3, S: 1, StrideH: 1, StrideW: 2, PadH: 2, DilationH: 2, DilationW: 1,
			Groups: 4, Bias: true, Activation: SiLU,
		}.Shape(),
		"gemm:1024x512x1": GEMMProblem{M: 1024, N: 512, K: 1, Batch: 1, Factors: AlphaBeta(1, 0)}.Shape(),
		"gemm:4x5x6,ta,tb,lda7,ldb8,ldc9,batch2:70:0:40,alpha0.5,beta-2,row-bias,relu": GEMMProblem{
			M: 4, N: 5, K: 6, TransA: true, TransB: true, LDA: 7, LDB: 8, LDC: 9,
			Batch: 2, StrideA: 70, StrideC: 40, Factors: AlphaBeta(0.5, -2), Bias: RowBias, Activation: ReLU,
		}.Shape(),
	} {
		got, err := ParseShape(text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got.String() != text {
			t.Errorf("%s comes out as %s", text, got)
		}
		if want.Conv2D != nil && *got.Conv2D != *want.Conv2D || want.GEMM != nil && *got.GEMM != *want.GEMM {
			t.Errorf("%s is %+v", text, got)
		}
	}
}

// Equal problems have one text.
func TestShapesAreCanonical(t *testing.T) {
	for _, p := range []GEMMProblem{
		{M: 2, N: 3, K: 4},
		{M: 2, N: 3, K: 4, LDA: 4, LDB: 3, LDC: 3, Batch: 1, StrideA: 9, Factors: AlphaBeta(1, 0)},
	} {
		if text := p.Shape().String(); text != "gemm:2x3x4" {
			t.Errorf("%+v is %s", p, text)
		}
	}
	p := Problem{N: 1, C: 1, H: 3, W: 3, K: 1, R: 3, S: 3, StrideH: 1, Groups: 1}
	if text := p.Shape().String(); text != "conv2d:1x1x3x3-1,3x3" {
		t.Errorf("%+v is %s", p, text)
	}
}

func TestParseShapeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "starts with neither",
		"gemm":                           "starts with neither",
		"gemm:1x2":                       `should be 3 numbers`,
		"gemm:1x2x03":                    `"03" is not a number`,
		"gemm:1x2x+3":                    `"+3" is not a number`,
		"gemm:1x2x0":                     "K is 0",
		"gemm:1x2x3,":                    `there is no ""`,
		"gemm:1x2x3,ta,ta":               "ta is there twice",
		"gemm:1x2x3,relu,tanh":           "activation is there twice",
		"gemm:1x2x3,betax":               `"x" is not a number`,
		"gemm:1x2x3,alphaNaN":            "must be a finite number",
		"gemm:1x2x3,none":                `there is no "none"`,
		"gemm:1x2x3,lda2":                "LDA is 2",
		"gemm:1x2x3,batch2":              "should be 4 numbers",
		"conv2d:1x1x1x1":                 "a convolution is",
		"conv2d:1x1x1x1-1":               "a convolution is",
		"conv2d:1x1x1x1-1,2x2":           "the filter spans 2",
		"conv2d:1x3x4x4-4,3x3,g2":        "not divisible",
		"conv2d:1x1x4x4-1,3x3,s1x1x1":    "should be 2 numbers",
		"conv2d:99999999999x1x1x1-1,1x1": "N is 99999999999",
	} {
		if _, err := ParseShape(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %q", text, err, want)
		}
	}
}

// FuzzShape: what is read can be written, and comes back the same.
func FuzzShape(f *testing.F) {
	for _, text := range []string{
		"conv2d:1x3x224x224-64,7x7,s2,p3", "conv2d:2x4x9x8-8,3x1,s1x2,p2x0,d2x1,g4,bias,silu",
		"gemm:4x5x6,ta,tb,lda7,ldb8,ldc9,batch2:70:0:40,alpha0.5,beta-2,row-bias,relu", "gemm:1x2x3,alpha1e-45", "gemm:1x2x3,alpha0,beta0.5",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseShape(text)
		if err != nil {
			return
		}
		again, err := ParseShape(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q is %q, which comes back as %q, %v", text, s, again, err)
		}
		if s.Conv2D != nil && *again.Conv2D != *s.Conv2D || s.GEMM != nil && *again.GEMM != *s.GEMM {
			t.Errorf("%q is %+v, which comes back as %+v", text, s, again)
		}
	})
}
