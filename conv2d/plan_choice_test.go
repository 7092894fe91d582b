//go:build linux

package conv2d

import (
	"encoding/json"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// TestPlanBasis goes through the reasons for a choice, in their order.
func TestPlanBasis(t *testing.T) {
	context, dir := gltest.Open(t), t.TempDir()
	programs := newCache(t, context, dir)
	e, err := executor.New(context, programs, executor.Options{SlotBytes: 1 << 16, SlotJobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	p := Problem{N: 1, C: 3, H: 12, W: 14, K: 5, R: 3, S: 3, PadH: 1, PadW: 1, Bias: true}
	withConvAlgorithms(t, directAlgorithm)
	basis := func(o PlanOptions, want Basis, local int) {
		t.Helper()
		plan, err := NewPlan(t.Context(), e, programs, []Layer{{Shape: p.Shape()}}, o)
		if err != nil {
			t.Error(err)
			return
		}
		defer plan.Release()
		if plan.first().basis != want || plan.first().choice.Params != (DirectParams{Local: local}) {
			t.Errorf("%v because of %s, want local=%d because of %s", plan.first().choice, plan.first().basis, local, want)
		}
	}
	basis(PlanOptions{}, ByRanking, 64)

	withTable(t, deviceOf(context.Info()), tableEntry{Problem: "conv2d:1x3x11x14-5,3x3,p1", Choice: Choice{"direct", DirectParams{Local: 48}}})
	basis(PlanOptions{}, ByTable, 48)

	keep := func(key string, c Choice) {
		t.Helper()
		choice, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := programs.Tunings().PutTuning(binary.Tuning{Problem: key, Choice: choice}); err != nil {
			t.Fatal(err)
		}
	}
	keep(p.Shape().plain().String(), Choice{"direct", DirectParams{Local: 16}})
	basis(PlanOptions{}, ByTuning, 16)
	keep(p.Shape().String(), Choice{"direct", DirectParams{Local: 8}})
	basis(PlanOptions{}, ByTuning, 8)
	basis(PlanOptions{Exact: true}, ByTuning, 8)
	keep(p.Shape().String()+",exact", Choice{"direct", DirectParams{Local: 4}})
	basis(PlanOptions{Exact: true}, ByTuning, 4)
	basis(PlanOptions{}, ByTuning, 8)
	basis(PlanOptions{Choice: &Choice{"direct", DirectParams{Local: 2}}}, ByCaller, 2)

	// What cannot be built, or is not a choice, counts as none.
	for _, c := range []Choice{{"gone", nil}, {"direct", DirectParams{Local: 1 << 20}}, {}} {
		keep(p.Shape().String(), c)
		basis(PlanOptions{}, ByTuning, 16)
	}
}

// withTable replaces the shipped table for a test.
func withTable(t *testing.T, on device, entries ...tableEntry) {
	t.Helper()
	before := shippedTable
	t.Cleanup(func() { shippedTable = before })
	for i := range entries {
		var err error
		if entries[i].shape, err = ParseShape(entries[i].Problem); err != nil {
			t.Fatal(err)
		}
	}
	shippedTable = func() map[string][]tableEntry { return map[string][]tableEntry{on.model: entries} }
}
