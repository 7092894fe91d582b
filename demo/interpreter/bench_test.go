//go:build linux

package interpreter

import (
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestBench(t *testing.T) {
	gl := gltest.Open(t)
	programs, err := cache.New(gl, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	rows, ratios, err := Bench(t.Context(), gl, programs, BenchOptions{Cycles: 3000, Batch: 1000, Machines: 65, Repeat: 1,
		Progress: func(done, of int) {
			if steps++; done >= of || of != 22 {
				t.Errorf("row %d of %d", done, of)
			}
		}})
	if err != nil || len(rows) != 22 || len(ratios) != 4 || steps != 22 {
		t.Fatalf("%d rows, %d ratios, %d steps, %v", len(rows), len(ratios), steps, err)
	}
	for _, r := range rows {
		if !r.Verified || r.IPS <= 0 || r.Millis <= 0 || r.Dispatches < 1 {
			t.Errorf("%+v", r)
		}
	}
	for _, r := range ratios {
		if r.ContinuousToMega <= 0 || r.ChainedToMega <= 0 || r.StandardToMega <= 0 || r.MegaToOneMachine <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if err := programs.Close(); err != nil {
		t.Error(err)
	}
}
