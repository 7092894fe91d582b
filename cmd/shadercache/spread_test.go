package main

import "testing"

func TestSpread(t *testing.T) {
	if got, want := newSpread([]float64{5, 1, 3}), (spread{3, 1, 5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := newSpread([]float64{2}), (spread{2, 2, 2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	list := []string{"aaa", "a", "aaaa", "aa"}
	if got := medianBy(list, func(s string) float64 { return float64(len(s)) }); got != "aa" || list[0] != "aaa" {
		t.Errorf("got %q, and the list is %q", got, list)
	}
}
