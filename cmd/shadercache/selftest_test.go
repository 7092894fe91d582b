package main

import (
	"testing"

	"github.com/shadercache/shadercache/cmd/startup"
)

func TestPrimingSeen(t *testing.T) {
	for _, c := range []struct {
		get, dispatch float64
		want          string
	}{
		{100, 1, "a query, seen: 100.00 ms to get a program, then 1.00 ms to its result"},
		{1, 100, "a query, not seen: 1.00 ms to get a program, then 100.00 ms to its result"},
	} {
		figures := startup.Figures{GetMillis: c.get, FirstDispatchMillis: c.dispatch}
		if got := primingSeen(startup.ChildResult{Priming: "a query", Figures: figures}); got != c.want {
			t.Errorf("%q", got)
		}
	}
}
