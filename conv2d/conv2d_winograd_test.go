//go:build linux

package conv2d

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

var winogradProblems = []Problem{
	{N: 1, C: 1, H: 3, W: 3, K: 1, R: 3, S: 3},
	{N: 1, C: 1, H: 1, W: 1, K: 1, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true},
	{N: 2, C: 3, H: 7, W: 5, K: 5, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: ReLU},
	{N: 3, C: 2, H: 14, W: 10, K: 7, R: 3, S: 3, PadW: 1, Bias: true, Activation: SiLU},
	{N: 1, C: 5, H: 6, W: 7, K: 35, R: 3, S: 3, PadH: 4, PadW: 5, Activation: Tanh},
	{N: 2, C: 6, H: 9, W: 8, K: 9, R: 3, S: 3, Groups: 3, PadH: 1, PadW: 1, Bias: true, Activation: Sigmoid},
	{N: 1, C: 37, H: 11, W: 13, K: 34, R: 3, S: 3, PadH: 1, PadW: 1},
	{N: 1, C: 5, H: 6, W: 7, K: 35, R: 3, S: 3, PadH: 2, PadW: 2, Activation: Tanh},
}

func TestWinograd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tile := ImplicitParams{BM: 32, BN: 32, BK: 8, TM: 8, TN: 4, Slices: 1, Split: 1, Buffers: 2, TapsFirst: 1, Clamp: 1}
	for i, p := range winogradProblems {
		for _, a := range inTurn([]algorithm[Problem]{winograd2Algorithm, winograd4Algorithm}, i, 2) {
			if a.name == winograd2Algorithm.name || max(p.PadH, p.PadW) <= 2 {
				checkConv(t, r, withParams(a, tile), p)
			}
		}
	}
	split := Problem{N: 1, C: 80, H: 8, W: 8, K: 32, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true, Activation: ReLU}
	tile = ImplicitParams{BM: 32, BN: 24, BK: 16, TM: 4, TN: 4, Slices: 2, Split: 3, Buffers: 1, TapsFirst: 1, Clamp: 1}
	checkConv(t, r, withParams(winograd2Algorithm, tile), split)
	checkConv(t, r, withParams(winograd4Algorithm, tile), split)
}

// TestWinogradError logs how far below its bound the error of a long sum is.
func TestWinogradError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := Problem{N: 1, C: 256, H: 8, W: 8, K: 16, R: 3, S: 3, PadH: 1, PadW: 1}
	in := kernel.Tensors{Input: RandomValues(p.InputLen(), newSeed(t)), Weights: RandomValues(p.WeightsLen(), newSeed(t)+1)}
	want := ReferenceConv2D(p, in.Input, in.Weights, nil)
	on := deviceOf(r.context.Info())
	for _, a := range []algorithm[Problem]{winograd2Algorithm, winograd4Algorithm} {
		made, err := a.sequence(p, onHardware(a, 1).candidates(p, on)[0], on)
		if err != nil {
			t.Fatal(err)
		}
		report, err := r.run(t, made, in, want, a.tolerance(p))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v", a.name, report)
		if err := report.Err(); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
	}
}

func TestWinogradRefuses(t *testing.T) {
	good := Problem{N: 1, C: 16, H: 10, W: 10, K: 16, R: 3, S: 3}
	params := winograd2Algorithm.candidates(good, hardware)[0]
	tests := []struct {
		want   string
		change func(p *Problem)
	}{
		{"3x3 only", func(p *Problem) { p.S = 5 }},
		{"stride and a dilation of 1", func(p *Problem) { p.StrideW = 2 }},
		{"stride and a dilation of 1", func(p *Problem) { p.DilationH = 2 }},
		{"too large for winograd", func(p *Problem) { p.N, p.H, p.W = 64, 1024, 1024 }},
	}
	for _, a := range []algorithm[Problem]{winograd2Algorithm, winograd4Algorithm} {
		for _, test := range tests {
			p := good
			test.change(&p)
			if _, err := a.sequence(p, params, hardware); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s for %v: error %v does not say %q", a.name, p, err, test.want)
			}
			if n := len(a.candidates(p, hardware)); n > 0 {
				t.Errorf("%s for %v: %d candidates", a.name, p, n)
			}
		}
		// Where outputs are of padding alone, the rounding of F(4,3) is beyond every bound.
		padded := good
		padded.PadH = 3
		if _, err := a.sequence(padded, params, hardware); (err != nil) != (a.name == winograd4Algorithm.name) {
			t.Errorf("%s for %v: %v", a.name, padded, err)
		}
		if _, err := a.sequence(good, ImplicitParams{}, hardware); err == nil {
			t.Errorf("%s: no error for no params", a.name)
		}
		if _, err := a.sequence(good, with(params.(ImplicitParams), "split", 2, "fused", 1), hardware); err == nil || !strings.Contains(err.Error(), "fused is 1") {
			t.Errorf("%s: error %v for fused parts", a.name, err)
		}
	}
}

func TestWinogradHasNoCandidatesWhereItMakesNoSense(t *testing.T) {
	good := Problem{N: 1, C: 16, H: 10, W: 10, K: 16, R: 3, S: 3}
	grouped, narrow, flat, software := good, good, good, hardware
	grouped.Groups = 2
	narrow.K = 15
	flat.H = 3
	software.software = true
	for _, a := range []algorithm[Problem]{winograd2Algorithm, winograd4Algorithm} {
		if len(a.candidates(good, hardware)) == 0 {
			t.Errorf("%s has no candidates for %v", a.name, good)
		}
		for _, p := range []Problem{grouped, narrow} {
			if n := len(a.candidates(p, hardware)); n > 0 {
				t.Errorf("%s for %v: %d candidates", a.name, p, n)
			}
		}
		if n := len(a.candidates(good, software)); n > 0 {
			t.Errorf("%s on software: %d candidates", a.name, n)
		}
	}
	if n := len(winograd4Algorithm.candidates(flat, hardware)); n > 0 {
		t.Errorf("winograd4 for %v: %d candidates", flat, n)
	}
}
