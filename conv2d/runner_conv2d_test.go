//go:build linux

package conv2d

import (
	"math"
	"testing"

	"github.com/shadercache/shadercache/cache"
)

func TestConv2D(t *testing.T) {
	seed := newSeed(t)
	problems := []Problem{
		{N: 1, C: 1, H: 1, W: 1, K: 1, R: 1, S: 1},
		{N: 1, C: 3, H: 32, W: 32, K: 16, R: 3, S: 3},
		{N: 2, C: 3, H: 17, W: 13, K: 5, R: 3, S: 3, PadH: 1, PadW: 1},
		{N: 1, C: 2, H: 19, W: 23, K: 3, R: 5, S: 5, StrideH: 2, StrideW: 2, PadH: 2, PadW: 2},
		{N: 1, C: 3, H: 21, W: 19, K: 4, R: 7, S: 7, StrideH: 2, StrideW: 2, PadH: 3, PadW: 3},
		{N: 1, C: 2, H: 3, W: 4, K: 2, R: 3, S: 2, PadH: 5, PadW: 4},
		{N: 2, C: 2, H: 11, W: 13, K: 2, R: 2, S: 3, StrideH: 5, StrideW: 7},
		{N: 1, C: 2, H: 15, W: 16, K: 3, R: 3, S: 3, PadH: 2, PadW: 3, DilationH: 2, DilationW: 3},
		{N: 1, C: 4, H: 9, W: 33, K: 3, R: 1, S: 9, StrideH: 3, DilationW: 4},
		{N: 3, C: 64, H: 7, W: 7, K: 8, R: 1, S: 1},
		{N: 1, C: 1, H: 5, W: 5, K: 1, R: 5, S: 5},
		{N: 5, C: 1, H: 1, W: 129, K: 1, R: 1, S: 1},
	}
	threeWays(t, func(t *testing.T, r *Runner) {
		for i, p := range problems {
			for _, p.Bias = range []bool{false, true} {
				checkConv2D(t, directly(r), p, seed+uint64(10*i))
			}
		}
	})
}

func checkConv2D(t *testing.T, r *Runner, p Problem, seed uint64) {
	t.Helper()
	input, weights := RandomValues(p.InputLen(), seed), RandomValues(p.WeightsLen(), seed+1)
	var bias []float32
	if p.Bias {
		bias = RandomValues(p.BiasLen(), seed+2)
	}
	before, loads := r.Executor.Context().Counters().Dispatches, r.Programs.(*cache.Cache).Stats().DiskHits
	got, err := r.Conv2D(t.Context(), p, input, weights, bias)
	if err != nil {
		t.Errorf("%v: %v", p, err)
		return
	}
	report := Compare(got, ReferenceConv2D(p, input, weights, bias), Tolerance(p.ReductionLen()))
	if err := report.Err(); err != nil || report.Elements != p.OutputLen() {
		t.Errorf("%v: %v", p, report)
	}
	n, want := r.Executor.Context().Counters().Dispatches-before, uint64(len(p.reduction().spans()))
	checked := r.Programs.(*cache.Cache).Stats().DiskHits > loads // which takes dispatches of its own
	if n < want || n > want != checked {
		// Priming is no dispatch of this kind.
		t.Errorf("%v: %d dispatches, want %d", p, n, want)
	}
}

// Reductions longer than one dispatch may be on llvmpipe, which ends loops
// silently: weights of one kind of sign make every missing part show.
func TestConv2DLongReduction(t *testing.T) {
	r := directly(newRunner(t))
	problems := []Problem{
		{N: 1, C: 8192, H: 3, W: 3, K: 1, R: 3, S: 3},
		{N: 1, C: 8192, H: 3, W: 3, K: 2, R: 3, S: 3, PadH: 1, PadW: 1},
		{N: 1, C: 70_000, H: 1, W: 2, K: 1, R: 1, S: 1},
		{N: 1, C: 1, H: 300, W: 301, K: 1, R: 300, S: 300},
		{N: 1, C: 3, H: 1, W: 30_000, K: 1, R: 1, S: 29_999},
	}
	for _, p := range problems {
		p.Bias = true
		input, weights := filled(p.InputLen(), 1), filled(p.WeightsLen(), 1)
		got, err := r.Conv2D(t.Context(), p, input, weights, filled(p.K, 0.5))
		if err != nil {
			t.Errorf("%v: %v", p, err)
			continue
		}
		want := ReferenceConv2D(p, input, weights, filled(p.K, 0.5))
		if err := Compare(got, want, 1e-6).Err(); err != nil {
			t.Errorf("%v: %v", p, err)
		}
		if len(p.reduction().spans()) < 2 {
			t.Errorf("%v: one dispatch for %d products", p, p.ReductionLen())
		}
	}
}

func filled(n int, v float32) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = v
	}
	return values
}

func TestConv2DPassesNaNAndInfinity(t *testing.T) {
	r := directly(newRunner(t))
	for _, p := range []Problem{
		{N: 1, C: 2, H: 9, W: 9, K: 2, R: 3, S: 3, PadH: 1, PadW: 1},
		{N: 1, C: 1, H: 9, W: 9, K: 1, R: 2, S: 4},
	} {
		input, weights := RandomValues(p.InputLen(), 1), RandomValues(p.WeightsLen(), 2)
		input[0] = float32(math.NaN())
		input[40] = float32(math.Inf(1))
		input[44] = float32(math.Inf(-1)) // meets the other one: NaN
		got, err := r.Conv2D(t.Context(), p, input, weights, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := ReferenceConv2D(p, input, weights, nil)
		nans, infinities := count(want.Values, math.IsNaN), count(want.Values, func(v float64) bool { return math.IsInf(v, 0) })
		if nans == 0 || infinities == 0 || nans+infinities == len(want.Values) {
			t.Fatalf("%v: %d NaN and %d infinities prove nothing", p, nans, infinities)
		}
		if err := Compare(got, want, Tolerance(p.ReductionLen())).Err(); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func count(values []float64, is func(float64) bool) (n int) {
	for _, v := range values {
		if is(v) {
			n++
		}
	}
	return n
}
