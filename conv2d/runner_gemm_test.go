//go:build linux

package conv2d

import (
	"math"
	"testing"

	"github.com/shadercache/shadercache/cache"
)

func TestGEMM(t *testing.T) {
	seed := newSeed(t)
	problems := []GEMMProblem{plain(1, 1, 1), plain(17, 1, 17), plain(1, 17, 1), plain(17, 17, 17), plain(129, 17, 33), plain(16, 90, 27), plain(33, 129, 129)}
	variants := []Variant{
		{Tile: Tile32},
		{Tile: Tile64, Activation: ReLU, Scale: 2},
		{Tile: Tile128, Activation: Tanh, Scale: 3},
		{Tile: Tile{Size: 24, Depth: 5, LocalY: 4}, Activation: SiLU, Scale: -0.5},
	}
	threeWays(t, func(t *testing.T, r *Runner, origins *expectation) {
		for i, p := range problems {
			a, b := RandomValues(p.ALen(), seed+uint64(2*i)), RandomValues(p.BLen(), seed+uint64(2*i+1))
			product := ReferenceGEMM(p, GEMMTensors{A: a, B: b})
			for _, v := range variants {
				got, timing, err := r.GEMM(t.Context(), p, v, a, b)
				if err != nil {
					t.Errorf("%v with %s: %v", p, v.Name(), err)
					continue
				}
				origins.check(t, timing)
				report := Compare(got, product.Activated(v), Tolerance(p.ReductionLen()))
				if !report.OK() {
					t.Errorf("%v with %s: %v", p, v.Name(), report)
				}
			}
		}
	})
}

func TestGEMMLongReduction(t *testing.T) {
	r := newRunner(t)
	p := GEMMProblem{M: 1, N: 2, K: 50_000}
	a, b := filled(p.ALen(), 1), filled(p.BLen(), 1)
	product := ReferenceGEMM(p, GEMMTensors{A: a, B: b})
	for _, tile := range []Tile{Tile32, Tile64, Tile128} {
		v := Variant{Tile: tile, Scale: 0.5}
		got, timing, err := r.GEMM(t.Context(), p, v, a, b)
		if err != nil {
			t.Fatal(err)
		}
		if err := Compare(got, product.Activated(v), 1e-6).Err(); err != nil {
			t.Errorf("%s: %v", v.Name(), err)
		}
		if timing.Dispatches < 2 {
			t.Errorf("%s: one dispatch for %d products", v.Name(), p.K)
		}
	}
}

func TestGEMMPassesNaNAndInfinity(t *testing.T) {
	r := newRunner(t)
	p := GEMMProblem{M: 5, N: 7, K: 3}
	a, b := RandomValues(p.ALen(), 1), RandomValues(p.BLen(), 2)
	a[3] = float32(math.NaN()) // row 1
	a[7] = float32(math.Inf(1))
	a[10] = float32(math.Inf(-1))
	product := ReferenceGEMM(p, GEMMTensors{A: a, B: b})
	for _, activation := range Activations() {
		v := Variant{Tile: Tile32, Activation: activation, Scale: 2}
		got, _, err := r.GEMM(t.Context(), p, v, a, b)
		if err != nil {
			t.Fatal(err)
		}
		if err := Compare(got, product.Activated(v), Tolerance(p.K)).Err(); err != nil {
			t.Errorf("%v: %v", activation, err)
		}
	}
}

// Activations of large values must saturate, not overflow to NaN.
func TestActivationsOfLargeValues(t *testing.T) {
	r := newRunner(t)
	p := GEMMProblem{M: 1, N: 8, K: 1}
	a := []float32{1}
	b := []float32{-1e30, -1000, -100, -20, 20, 100, 1000, 1e30}
	product := ReferenceGEMM(p, GEMMTensors{A: a, B: b})
	for _, activation := range Activations() {
		v := Variant{Tile: Tile32, Activation: activation}
		got, _, err := r.GEMM(t.Context(), p, v, a, b)
		if err != nil {
			t.Fatal(err)
		}
		if err := Compare(got, product.Activated(v), 1e-6).Err(); err != nil {
			t.Errorf("%v: %v", activation, err)
		}
	}
}

// A few programs of startup48 in its own size; one product serves them all.
func TestStartupProblem(t *testing.T) {
	r := newRunner(t)
	variants, err := Startup48(r.Context.Info().MaxSharedBytes)
	if err != nil {
		t.Fatal(err)
	}
	p := StartupProblem()
	a, b := RandomValues(p.ALen(), 1), RandomValues(p.BLen(), 2)
	product := ReferenceGEMM(p, GEMMTensors{A: a, B: b})
	for i := 0; i < len(variants); i += 13 {
		got, timing, err := r.GEMM(t.Context(), p, variants[i], a, b)
		if err != nil {
			t.Fatal(err)
		}
		if err := Compare(got, product.Activated(variants[i]), Tolerance(p.K)).Err(); err != nil {
			t.Errorf("%s: %v", variants[i].Name(), err)
		}
		if timing.Origin != cache.Compiled || timing.Dispatches != 1 {
			t.Errorf("%s: %+v", variants[i].Name(), timing)
		}
	}
}
