//go:build linux

package conv2d

import (
	"math"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

// tiledBy has a runner compute by one tile.
func tiledBy(r *Runner, t TiledParams) *Runner {
	r.Options.Choice = &Choice{"gemm_tiled", t}
	return r
}

func TestGEMMTiled(t *testing.T) {
	t.Parallel()
	seed := newSeed(t)
	problems := []GEMMProblem{plain(1, 1, 1), plain(17, 1, 17), plain(1, 17, 1), plain(129, 17, 33), plain(16, 90, 27), plain(33, 129, 129)}
	variants := []struct {
		tile       TiledParams
		activation Activation
		alpha      float32
	}{
		{tile32, None, 1},
		{tile64, ReLU, 2},
		{tile128, Tanh, 3},
		{TiledParams{Tile: 24, Depth: 5, LocalY: 4}, SiLU, -0.5},
	}
	threeWays(t, func(t *testing.T, r *Runner) {
		for i, p := range problems {
			in := GEMMTensors{A: RandomValues(p.ALen(), seed+uint64(2*i)), B: RandomValues(p.BLen(), seed+uint64(2*i+1))}
			for _, v := range variants {
				p.Factors, p.Activation = AlphaBeta(v.alpha, 0), v.activation
				got, err := tiledBy(r, v.tile).GEMM(t.Context(), p, in)
				if err != nil {
					t.Errorf("%v by %+v: %v", p, v.tile, err)
					continue
				}
				if report := Compare(got, ReferenceGEMM(p, in), Tolerance(p.K)); !report.OK() {
					t.Errorf("%v by %+v: %v", p, v.tile, report)
				}
			}
		}
	})
}

func TestGEMMTiledCutsLongSums(t *testing.T) {
	r := newRig(t)
	p := GEMMProblem{M: 1, N: 2, K: 50_000, Factors: AlphaBeta(0.5, 0)}
	in := kernel.Tensors{Input: filled(p.ALen(), 1), Weights: filled(p.BLen(), 1)}
	want := ReferenceGEMM(p, GEMMTensors{A: in.Input, B: in.Weights})
	for _, of := range []TiledParams{tile32, tile64, tile128} {
		made, err := gemmTiledSequence(p, of, deviceOf(r.context.Info()))
		if err != nil {
			t.Fatal(err)
		}
		if len(made.Steps) < 2 {
			t.Errorf("%+v: one dispatch for %d products", of, p.K)
		}
		report, err := r.run(t, made, in, want, 1e-6)
		if err != nil || !report.OK() {
			t.Errorf("%+v: %v, %v", of, report, err)
		}
	}
}

func TestGEMMTiledPassesNaNAndInfinityOn(t *testing.T) {
	r := newRig(t)
	p := GEMMProblem{M: 5, N: 7, K: 3, Factors: AlphaBeta(2, 0)}
	in := kernel.Tensors{Input: RandomValues(p.ALen(), 1), Weights: RandomValues(p.BLen(), 2)}
	in.Input[3] = float32(math.NaN()) // row 1
	in.Input[7] = float32(math.Inf(1))
	in.Input[10] = float32(math.Inf(-1))
	for _, p.Activation = range []Activation{None, ReLU, Tanh, SiLU, Sigmoid} {
		want := ReferenceGEMM(p, GEMMTensors{A: in.Input, B: in.Weights})
		checkAlgorithm(t, r, withGEMMParams(gemmTiledAlgorithm, tile32), p, in, want)
	}
}

// activations of large values must saturate, not overflow to NaN.
func TestActivationsOfLargeValues(t *testing.T) {
	r := newRig(t)
	p := GEMMProblem{M: 1, N: 8, K: 1}
	in := kernel.Tensors{Input: []float32{1}, Weights: []float32{-1e30, -1000, -100, -20, 20, 100, 1000, 1e30}}
	for _, p.Activation = range []Activation{None, ReLU, Tanh, SiLU, Sigmoid} {
		want := ReferenceGEMM(p, GEMMTensors{A: in.Input, B: in.Weights})
		checkAlgorithm(t, r, withGEMMParams(gemmTiledAlgorithm, tile32), p, in, want)
		if r.context.Info().Software() {
			checkAlgorithm(t, r, gemmMicroAlgorithm, p, in, want)
		}
	}
}

// withGEMMParams is an algorithm with one candidate.
func withGEMMParams(a algorithm[GEMMProblem], params Params) algorithm[GEMMProblem] {
	a.candidates = func(GEMMProblem, device) []Params { return []Params{params} }
	return a
}

func TestTileFits(t *testing.T) {
	fitted, err := tile128.fit(9 << 10)
	if err != nil || fitted.Depth != 8 || fitted.Tile != 128 {
		t.Errorf("fitted to %+v, %v", fitted, err)
	}
	if same, err := tile128.fit(32 << 10); err != nil || same != tile128 {
		t.Errorf("fitted to %+v, %v", same, err)
	}
}

func TestGEMMTiledRefuses(t *testing.T) {
	on := guaranteed
	on.sharedBytes = 32 << 10
	for want, of := range map[string]TiledParams{
		"30 is not a multiple": {Tile: 30, Depth: 4, LocalY: 8},
		"more than 8 rows":     {Tile: 128, Depth: 4, LocalY: 8},
		"a group of 4096":      {Tile: 128, Depth: 4, LocalY: 128},
		"bytes of shared":      {Tile: 128, Depth: 64, LocalY: 32},
		"must be at least 1":   {},
	} {
		if _, err := gemmTiledSequence(plain(1, 1, 1), of, on); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v does not say %q", of, err, want)
		}
	}
	if _, err := gemmTiledAlgorithm.sequence(plain(1, 1, 1), BlockParams{BM: 64}, on); err == nil || !strings.Contains(err.Error(), "takes conv2d.TiledParams") {
		t.Errorf("foreign parameters: %v", err)
	}
	for _, p := range []GEMMProblem{
		{M: 2, N: 2, K: 2, TransA: true}, {M: 2, N: 2, K: 2, LDC: 3}, {M: 2, N: 2, K: 2, Factors: AlphaBeta(1, 1)},
		{M: 2, N: 2, K: 2, Bias: RowBias}, {M: 2, N: 2, K: 2, Batch: 2, StrideC: 4},
	} {
		if _, err := gemmTiledSequence(p, tile32, on); err == nil || !strings.Contains(err.Error(), "and not") {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func TestFloatLiteral(t *testing.T) {
	tests := map[float32]string{1: "1.0", -2: "-2.0", 0.5: "0.5", 1e-20: "1e-20", 1e30: "1e+30", 0.1: "0.1"}
	for v, want := range tests {
		if got := floatLiteral(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}
