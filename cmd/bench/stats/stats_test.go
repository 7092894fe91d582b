package stats

import (
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	if got, want := NewSpread([]float64{5, 1, 3}), (Spread{3, 1, 5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := NewSpread([]float64{2}), (Spread{2, 2, 2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestGeomean(t *testing.T) {
	if got := Geomean([]float64{1, 4}); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if mean, spread := Geomean(nil), NewSpread(nil); mean != 0 || spread != (Spread{}) {
		t.Errorf("got %v and %v of no values", mean, spread)
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
	list := []string{"aaa", "a", "aaaa", "aa"}
	if got := MedianBy(list, func(s string) float64 { return float64(len(s)) }); got != "aa" || list[0] != "aaa" {
		t.Errorf("got %q, and the list is %q", got, list)
	}
}

func TestLatencies(t *testing.T) {
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(2*(200-i)))
	}
	if got, want := NewLatencies(times), (Latencies{201, 398, 400}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := NewLatencies(nil); got != (Latencies{}) {
		t.Errorf("got %v of no times", got)
	}
	if us, ms := Micros(2500), Millis(2_500_000); us != 2.5 || ms != 2.5 {
		t.Errorf("got %v us and %v ms", us, ms)
	}
}
