//go:build linux

package conv2d

import (
	"math"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// checkGEMM computes a problem by every candidate of an algorithm, in poisoned
// memory with canaries, and compares every element.
func checkGEMM(t *testing.T, r *rig, a algorithm[GEMMProblem], p GEMMProblem) {
	t.Helper()
	seed := newSeed(t)
	in := GEMMTensors{
		A: RandomValues(p.ALen(), seed), B: RandomValues(p.BLen(), seed+1),
		C: RandomValues(p.CLen(), seed+2), Bias: RandomValues(p.BiasLen(), seed+3),
	}
	if p.beta() == 0 && p.LDC == 0 && p.StrideC == 0 {
		in.C = nil // poisoned
	}
	want := ReferenceGEMM(p, in)
	checkAlgorithm(t, r, a, p, kernel.Tensors{Input: in.A, Weights: in.B, Bias: in.Bias, Output: in.C}, want)
}

// checkConv is checkGEMM for a convolution.
func checkConv(t *testing.T, r *rig, a algorithm[Problem], p Problem) {
	t.Helper()
	seed := newSeed(t)
	in := kernel.Tensors{Input: RandomValues(p.InputLen(), seed), Weights: RandomValues(p.WeightsLen(), seed+1)}
	if p.Bias {
		in.Bias = RandomValues(p.BiasLen(), seed+2)
	}
	checkAlgorithm(t, r, a, p, in, ReferenceConv2D(p, in.Input, in.Weights, in.Bias))
}

type problem interface {
	Validate() error
	String() string
}

func checkAlgorithm[P problem](t *testing.T, r *rig, a algorithm[P], p P, in kernel.Tensors, want Expected) {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	on := deviceOf(r.context.Info())
	candidates := a.candidates(p, on)
	if len(candidates) == 0 {
		t.Errorf("%s has no candidate for %v", a.name, p)
	}
	for _, params := range candidates {
		made, err := a.sequence(p, params, on)
		if err != nil {
			t.Errorf("%s %v for %v: %v", a.name, params, p, err)
			continue
		}
		report, err := r.run(t, made, in, want, a.tolerance(p))
		if err != nil {
			t.Errorf("%s %v for %v: %v", a.name, params, p, err)
			continue
		}
		if !report.OK() {
			t.Errorf("%s %v for %v: %v", a.name, params, p, report)
		}
	}
}

// firstOf is an algorithm with its first n candidates: each has to be compiled.
func firstOf[P any](a algorithm[P], n int) algorithm[P] {
	candidates := a.candidates
	a.candidates = func(p P, on device) []Params {
		list := candidates(p, on)
		return list[:min(n, len(list))]
	}
	return a
}

// turnOf is an algorithm with one of its first n candidates, another one for each problem:
// see inTurn.
func turnOf[P any](a algorithm[P], problem, n int) algorithm[P] {
	candidates := a.candidates
	a.candidates = func(p P, on device) []Params {
		list := candidates(p, on)
		n := min(n, len(list))
		return inTurn(list[:n], problem, max(1, n))
	}
	return a
}

// withSpecials puts a NaN and an infinity into values, if there is room.
func withSpecials(values []float32) []float32 {
	if len(values) > 1 {
		values[0], values[len(values)/2] = float32(math.NaN()), float32(math.Inf(1))
	}
	return values
}
