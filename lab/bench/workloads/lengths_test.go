package workloads

import "testing"

// Lengths that the user gives are used on every driver.
func TestInterpreterLengths(t *testing.T) {
	for _, c := range []struct {
		o             InterpreterOptions
		machines      int
		software      bool
		cycles, batch int
	}{
		{InterpreterOptions{}, 1, true, 600_000, 150_000},
		{InterpreterOptions{}, 70, true, 60_000, 15_000},
		{InterpreterOptions{}, 70, false, 4_000_000, 1_000_000},
		{InterpreterOptions{Cycles: 2000}, 1, true, 2000, 500},
		{InterpreterOptions{Cycles: 2000, Batch: 300}, 70, true, 2000, 300},
		{InterpreterOptions{Batch: 300}, 70, true, 60_000, 300},
		{InterpreterOptions{Cycles: 5_000_000, Batch: 7}, 1, true, 5_000_000, 7},
	} {
		if cycles, batch := c.o.lengths(c.machines, c.software); cycles != c.cycles || batch != c.batch {
			t.Errorf("%+v of %d machines: %d in batches of %d", c.o, c.machines, cycles, batch)
		}
	}
}
