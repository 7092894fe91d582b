package stats

import (
	"testing"
)

func TestSpread(t *testing.T) {
	if got, want := NewSpread([]float64{5, 1, 3}), (Spread{3, 1, 5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := NewSpread([]float64{2}), (Spread{2, 2, 2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := NewSpread(nil); got != (Spread{}) {
		t.Errorf("got %v of no values", got)
	}
}

func TestMedian(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	if got := Median(values); got != 2.5 || values[0] != 4 {
		t.Errorf("the median of an even number is %v, want 2.5, and the values are %v", got, values)
	}
	if got := Median(nil); got != 0 {
		t.Errorf("the median of no values is %v", got)
	}
}
