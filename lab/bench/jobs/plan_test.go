package jobs

import "testing"

// With the default of --seconds small jobs share slots of the full size; a short run does
// not wait for thousands of jobs.
func TestSlotsFitTheSeconds(t *testing.T) {
	for _, test := range []struct {
		seconds, micros float64
		want            int
	}{{0.5, 2, 256}, {0.5, 100, 256}, {0.005, 2, 15}, {0.005, 100, 4}} {
		if n := (Options{Seconds: test.seconds}).smallSlot(test.micros); n != test.want {
			t.Errorf("%v s, kernels of %v us: slots of %d jobs, want %d", test.seconds, test.micros, n, test.want)
		}
	}
}
