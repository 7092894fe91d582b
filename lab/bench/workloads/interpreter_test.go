package workloads

import (
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/glctx/gltest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

func TestInterpreter(t *testing.T) {
	gl := gltest.Open(t)
	programs, err := cache.New(gl, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	r := newInterpreterRun(t.Context(), gl, programs, InterpreterOptions{Cycles: 3000, Batch: 1000, Machines: 65, Repeat: 1})
	r.progress = func(done, of int) {
		if steps++; done >= of || of != 30 {
			t.Errorf("row %d of %d", done, of)
		}
	}
	ratios, err := r.measure()
	if err != nil || len(r.rows) != 30 || len(ratios) != 4 || steps != 30 {
		t.Fatalf("%d rows, %d ratios, %d steps, %v", len(r.rows), len(ratios), steps, err)
	}
	for _, row := range r.rows {
		if row.Cycles != 3000 || row.Batch != 1000 {
			t.Errorf("%d cycles in batches of %d: 3000 in batches of 1000 were asked for", row.Cycles, row.Batch)
		}
		if !row.Verified || row.IPS <= 0 || row.Millis <= 0 || row.Dispatches < 1 {
			t.Errorf("%+v", row)
		}
	}
	if last := r.rows[29]; last.Machine != "group" || last.Program != "vector" {
		t.Errorf("%+v", last)
	}
	for _, q := range ratios {
		if q.ContinuousToMega <= 0 || q.ChainedToMega <= 0 || q.StandardToMega <= 0 || q.MegaToOneMachine <= 0 {
			t.Errorf("%+v", q)
		}
	}
	clitest.Print(t, &InterpreterResult{Rows: r.rows, Ratios: ratios, Verified: true}, "tight", "array", "a group each", "continuous/mega")
	if err := programs.Close(); err != nil {
		t.Error(err)
	}
}
