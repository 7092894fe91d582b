package measure

import (
	"testing"
	"time"
)

func TestGeomean(t *testing.T) {
	if got := Geomean([]float64{1, 4}); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if mean := Geomean(nil); mean != 0 {
		t.Errorf("got %v of no values", mean)
	}
}

func TestMedianBy(t *testing.T) {
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
