package daxpy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAdd compares vectors of every length up to several registers with a loop, to the bit:
// numbers of all sizes, zeros, infinities and NaN.
func TestAdd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32, math.SmallestNonzeroFloat32}
	for n := range 40 {
		for _, factor := range []float64{0.3, -1.5, 0, math.Inf(-1), math.SmallestNonzeroFloat32} {
			factor = float64(float32(factor))
			x, sums, magnitudes := make([]float32, n), make([]float64, n+3), make([]float64, n+3)
			for i := range sums {
				sums[i], magnitudes[i] = random.NormFloat64(), random.Float64()
			}
			for i := range x {
				if x[i] = float32(random.NormFloat64()); i%7 == 3 {
					x[i] = special[random.IntN(len(special))]
				}
			}
			wantSums, wantMagnitudes := append([]float64(nil), sums...), append([]float64(nil), magnitudes...)
			for i, v := range x {
				product := factor * float64(v)
				wantSums[i] += product
				wantMagnitudes[i] += math.Abs(product)
			}
			Add(sums, magnitudes, x, factor)
			for i := range sums {
				if !same(sums[i], wantSums[i]) || !same(magnitudes[i], wantMagnitudes[i]) {
					t.Fatalf("%d of %d elements times %v: %v and %v, want %v and %v", i, n, factor, sums[i], magnitudes[i], wantSums[i], wantMagnitudes[i])
				}
			}
		}
	}
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

func BenchmarkAdd(b *testing.B) {
	x, sums, magnitudes := make([]float32, 1024), make([]float64, 1024), make([]float64, 1024)
	for b.Loop() {
		Add(sums, magnitudes, x, 0.5)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/product")
}
