package conv2d

import (
	"math"
	"strings"
	"testing"
)

// measuredProblems are the shapes that the project measures, with the output size and
// the operations that follow from them.
var measuredProblems = []struct {
	problem Problem
	p, q    int
	flops   int64
}{
	{Problem{N: 1, C: 3, H: 224, W: 224, K: 64, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3}, 112, 112, 236_027_904},
	{Problem{N: 4, C: 3, H: 224, W: 224, K: 64, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3}, 112, 112, 944_111_616},
	{Problem{N: 1, C: 128, H: 28, W: 28, K: 256, R: 3, S: 3, PadH: 1, PadW: 1}, 28, 28, 462_422_016},
	{Problem{N: 1, C: 64, H: 56, W: 56, K: 256, R: 3, S: 3, PadH: 1, PadW: 1}, 56, 56, 924_844_032},
	{Problem{N: 1, C: 64, H: 56, W: 56, K: 128, R: 3, S: 3, PadH: 1, PadW: 1}, 56, 56, 462_422_016},
	{Problem{N: 1, C: 3, H: 224, W: 224, K: 64, R: 3, S: 3, PadH: 1, PadW: 1}, 224, 224, 173_408_256},
	{Problem{N: 8, C: 256, H: 56, W: 56, K: 256, R: 3, S: 3, PadH: 1, PadW: 1}, 56, 56, 29_595_009_024},
	{Problem{N: 32, C: 512, H: 14, W: 14, K: 512, R: 3, S: 3, PadH: 1, PadW: 1}, 14, 14, 29_595_009_024},
	{Problem{N: 64, C: 512, H: 7, W: 7, K: 512, R: 1, S: 1}, 7, 7, 1_644_167_168},
	{Problem{N: 16, C: 128, H: 28, W: 28, K: 256, R: 5, S: 5, StrideH: 2, StrideW: 2, PadH: 2, PadW: 2}, 14, 14, 5_138_022_400},
	{Problem{N: 128, C: 64, H: 32, W: 32, K: 128, R: 3, S: 3, PadH: 1, PadW: 1}, 32, 32, 19_327_352_832},
	{Problem{N: 1, C: 3, H: 32, W: 32, K: 16, R: 3, S: 3}, 30, 30, 777_600},

	{Problem{N: 1, C: 64, H: 56, W: 56, K: 64, R: 3, S: 3, PadH: 1, PadW: 1}, 56, 56, 231_211_008},
	{Problem{N: 32, C: 128, H: 28, W: 28, K: 128, R: 3, S: 3, PadH: 1, PadW: 1}, 28, 28, 7_398_752_256},
	{Problem{N: 1, C: 256, H: 14, W: 14, K: 256, R: 3, S: 3, PadH: 1, PadW: 1}, 14, 14, 231_211_008},
	{Problem{N: 1, C: 512, H: 7, W: 7, K: 512, R: 3, S: 3, PadH: 1, PadW: 1}, 7, 7, 231_211_008},
	{Problem{N: 32, C: 256, H: 56, W: 56, K: 64, R: 1, S: 1}, 56, 56, 3_288_334_336},
	{Problem{N: 4, C: 64, H: 224, W: 224, K: 64, R: 3, S: 3, PadH: 1, PadW: 1}, 224, 224, 14_797_504_512},
}

func TestWorkloadShapes(t *testing.T) {
	for _, w := range measuredProblems {
		p := w.problem
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		if p.P() != w.p || p.Q() != w.q {
			t.Errorf("%v: output is %dx%d, want %dx%d", p, p.P(), p.Q(), w.p, w.q)
		}
		if got := p.FLOPs(); got != w.flops {
			t.Errorf("%v: %d operations, want %d", p, got, w.flops)
		}
		if got, want := p.OutputLen(), p.N*p.K*w.p*w.q; got != want {
			t.Errorf("%v: %d outputs, want %d", p, got, want)
		}
	}
}

func TestProblemOutputSize(t *testing.T) {
	tests := []struct {
		problem Problem
		p, q    int
	}{
		{Problem{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1}, 1, 1},
		{Problem{N: 1, C: 1, H: 5, W: 7, K: 1, R: 3, S: 2}, 3, 6},
		{Problem{N: 1, C: 1, H: 5, W: 7, K: 1, R: 3, S: 2, StrideH: 2, StrideW: 3}, 2, 2},
		{Problem{N: 1, C: 1, H: 5, W: 7, K: 1, R: 3, S: 2, StrideH: 9, StrideW: 9}, 1, 1},
		{Problem{N: 1, C: 1, H: 2, W: 2, K: 1, R: 3, S: 3, PadH: 5, PadW: 4}, 10, 8},
		{Problem{N: 1, C: 1, H: 9, W: 9, K: 1, R: 3, S: 3, DilationH: 4, DilationW: 2}, 1, 5},
	}
	for _, test := range tests {
		if err := test.problem.Validate(); err != nil {
			t.Error(err)
		}
		if p, q := test.problem.P(), test.problem.Q(); p != test.p || q != test.q {
			t.Errorf("%v: output is %dx%d, want %dx%d", test.problem, p, q, test.p, test.q)
		}
	}
}

func TestProblemValidateNamesEveryFault(t *testing.T) {
	valid := Problem{N: 1, C: 1, H: 4, W: 4, K: 1, R: 3, S: 3}
	with := func(change func(*Problem)) Problem {
		p := valid
		change(&p)
		return p
	}
	tests := []struct {
		name    string
		problem Problem
		faults  []string
	}{
		{"zero", Problem{}, []string{"N is 0", "C is 0", "H is 0", "W is 0", "K is 0", "R is 0", "S is 0"}},
		{"negative", with(func(p *Problem) { p.StrideH, p.PadW, p.DilationH = -1, -2, -3 }),
			[]string{"StrideH is -1", "PadW is -2", "DilationH is -3"}},
		{"filter too large", with(func(p *Problem) { p.R, p.S = 5, 6 }),
			[]string{"the filter spans 5 along H", "the filter spans 6 along W"}},
		{"dilated filter too large", with(func(p *Problem) { p.DilationW = 2 }),
			[]string{"the filter spans 5 along W, but the padded input has 4"}},
		{"filter past the loop budget", with(func(p *Problem) { p.S, p.W = 40_000, 50_000 }),
			[]string{"S is 40000, must be at most 32766"}},
		{"padding past int32", with(func(p *Problem) { p.PadH = math.MaxInt32 }),
			[]string{"H with padding is 4294967298", "output [1 1 4294967296 2] has more than"}},
		{"input too large", with(func(p *Problem) { p.N, p.C = 1<<15, 1<<15 }),
			[]string{"input [32768 32768 4 4] has more than"}},
		{"weights and output too large", with(func(p *Problem) { p.K = math.MaxInt32 }),
			[]string{"weights [2147483647 1 3 3] has more than", "output [1 2147483647 2 2] has more than"}},
		{"dimension past int32", with(func(p *Problem) { p.C = math.MaxInt }), []string{"C is 9223372036854775807"}},
	}
	for _, test := range tests {
		err := test.problem.Validate()
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		lines := strings.Split(err.Error(), "\n")[1:]
		if len(lines) != len(test.faults) {
			t.Errorf("%s: %d faults, want %d: %v", test.name, len(lines), len(test.faults), err)
			continue
		}
		for i, want := range test.faults {
			if !strings.HasPrefix(lines[i], want) {
				t.Errorf("%s: fault %q, want %q", test.name, lines[i], want)
			}
		}
	}
	if err := valid.Validate(); err != nil {
		t.Error(err)
	}
}

func TestOperationsSaturate(t *testing.T) {
	g := GEMMProblem{M: math.MaxInt32, N: math.MaxInt32, K: math.MaxInt32}
	if got := g.FLOPs(); got != math.MaxInt64 {
		t.Errorf("%v: %d operations, want %d", g, got, int64(math.MaxInt64))
	}
	if err := g.Validate(); err == nil || !strings.Contains(err.Error(), "number of operations") {
		t.Errorf("%v: error %v, want one about the operations", g, err)
	}
	p := Problem{N: 1 << 20, C: 1 << 20, H: 1 << 10, W: 1 << 10, K: 1 << 20, R: 1, S: 1}
	if got := p.FLOPs(); got != math.MaxInt64 {
		t.Errorf("%v: %d operations, want %d", p, got, int64(math.MaxInt64))
	}
	if got := product(math.MaxInt, math.MaxInt, 0); got != 0 {
		t.Errorf("a product with 0 is %d", got)
	}
}

func TestProblemString(t *testing.T) {
	tests := []struct {
		problem Problem
		want    string
	}{
		{measuredProblems[0].problem, "1x3x224x224-64 7x7 s2 p3"},
		{measuredProblems[11].problem, "1x3x32x32-16 3x3"},
		{Problem{N: 2, C: 1, H: 8, W: 9, K: 3, R: 1, S: 2, StrideW: 2, PadH: 1, DilationH: 3, DilationW: 3}, "2x1x8x9-3 1x2 s1x2 p1x0 d3"},
	}
	for _, test := range tests {
		if got := test.problem.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestGEMMProblem(t *testing.T) {
	p := GEMMProblem{M: 16, N: 900, K: 27}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	if got := p.FLOPs(); got != 777_600 {
		t.Errorf("%v: %d operations, want 777600", p, got)
	}
	if p.ALen() != 432 || p.BLen() != 24_300 || p.CLen() != 14_400 {
		t.Errorf("%v: lengths %d, %d, %d", p, p.ALen(), p.BLen(), p.CLen())
	}
	if got := p.String(); got != "16x900x27" {
		t.Errorf("got %q", got)
	}
	err := GEMMProblem{M: -1, K: 1}.Validate()
	if err == nil || !strings.Contains(err.Error(), "M is -1") || !strings.Contains(err.Error(), "N is 0") {
		t.Errorf("error %v does not name M and N", err)
	}
}

func TestReductionCoversEverythingOnce(t *testing.T) {
	for _, r := range []reduction{{1, 10}, {10, 10}, {11, 10}, {24_576, 8_192}, {65_537, 1}} {
		next := 0
		for i, s := range r.spans() {
			if s.first != next || s.last <= s.first || s.last-s.first > r.step {
				t.Fatalf("%+v: span %d is %+v after %d", r, i, s, next)
			}
			next = s.last
		}
		if next != r.length {
			t.Errorf("%+v: ends at %d", r, next)
		}
	}
}

func TestReductionStaysWithinTheLoopBudget(t *testing.T) {
	for _, p := range []Problem{{C: 8192, R: 3, S: 3}, {C: 1, R: 1, S: maxFilterSide}, {C: 70_000, R: 1, S: 1}} {
		if n := p.reduction().step; n < 1 || n*(p.S+2) > maxLoopIterations {
			t.Errorf("%+v: %d rows a dispatch", p, n)
		}
	}
	if got := (Problem{C: 8192, R: 3, S: 3}).reduction().spans(); len(got) != 4 {
		t.Errorf("73,728 taps take the dispatches %v, want 4", got)
	}
}
