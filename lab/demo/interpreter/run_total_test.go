//go:build linux

package interpreter

import "testing"

// A total that is no multiple of the batch is run exactly.
func TestRunContinuousTotal(t *testing.T) {
	v := newMachines(t, Options{Machines: 3, MemoryBytes: 64, BatchCycles: 100})
	if err := v.Load(t.Context(), assemble(t, "l: add x0, x0, #1\nb l"), 0); err != nil {
		t.Fatal(err)
	}
	r, err := v.RunContinuousTotal(t.Context(), 250)
	if err != nil || r.Cycles != 3*250 || r.Form != "continuous" || r.Signals[SignalCheckpoint] != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}
