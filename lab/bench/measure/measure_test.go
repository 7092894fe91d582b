package measure

import (
	"testing"
	"time"
)

// sink keeps an allocation from being optimized away.
var sink []byte

// The counters of this process grow with what it does.
func TestProcessCounters(t *testing.T) {
	cpu, allocations := CPUTime(), Allocations()
	for CPUTime() <= cpu || Allocations() <= allocations {
		sink = make([]byte, 1<<10)
	}
	if ResidentBytes() <= 0 || CPUPercent(cpu, time.Hour) <= 0 {
		t.Errorf("%d bytes resident, %v%% of a CPU", ResidentBytes(), CPUPercent(cpu, time.Hour))
	}
	if a, b := CountSource(1), CountSource(2); a.Key() == b.Key() || a.Name() != "bench_count_1" {
		t.Errorf("programs %s and %s are the same", a.Name(), b.Name())
	}
}

func TestReadableRate(t *testing.T) {
	for rate, want := range map[float64]string{45_600: "45.6 k", 12_340_000: "12.34 M", 4.56e9: "4.56 G"} {
		if got := ReadableRate(rate); got != want {
			t.Errorf("%v: %q", rate, got)
		}
	}
}
