package conv2d

import (
	"math"
	"slices"
	"testing"
)

// TestRandomValues makes more values than one source: a shorter list begins the longer one,
// other seeds make others, and no piece is like another.
func TestRandomValues(t *testing.T) {
	const n = 2*randomPiece + 5
	values := RandomValues(n, 3)
	if !slices.Equal(values[:randomPiece+1], RandomValues(randomPiece+1, 3)) || slices.Equal(values, RandomValues(n, 4)) ||
		slices.Equal(values[:randomPiece], values[randomPiece:2*randomPiece]) {
		t.Error("values do not follow from the seed and their place")
	}
	mean := 0.0
	for _, v := range values {
		if v < -0.5 || v >= 0.5 {
			t.Fatalf("there is a %v", v)
		}
		mean += float64(v) / n
	}
	// The standard deviation of the mean is 1/sqrt(12 n).
	if math.Abs(mean) > 5/math.Sqrt(12*n) {
		t.Errorf("their mean is %v", mean)
	}
}
