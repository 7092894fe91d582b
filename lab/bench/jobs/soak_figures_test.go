package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/lab/bench/measure"
)

// A quantile is within a class of 2% of the time.
func TestRoundTimes(t *testing.T) {
	var r roundTimes
	for i := range 100 {
		r.record(time.Duration(i+1) * time.Millisecond)
	}
	var f SoakFigures
	r.setFigures(&f)
	if f.Rounds != 100 || f.MaxMillis != 100 || f.MedianMillis < 50 || f.MedianMillis > 52 || f.P99Millis < 99 || f.P99Millis > 102 || f.Stalled {
		t.Errorf("%+v", f)
	}
	r.record(time.Second)
	if r.setFigures(&f); !f.Stalled || f.StallRatio < 15 {
		t.Errorf("%+v", f)
	}
}

// Counts may not grow at all, memory by a limited number of bytes.
func TestSoakCompare(t *testing.T) {
	before := SoakSample{RSS: 1 << 30, Heap: 1 << 20, Held: measure.Held{Goroutines: 9, Buffers: 3}}
	for name, test := range map[string]struct {
		after SoakSample
		leaks int
	}{
		"the same":            {before, 0},
		"memory within limit": {SoakSample{RSS: 1<<30 + soakGrowth, Heap: 1<<20 + soakGrowth, Held: before.Held}, 0},
		"everything":          {SoakSample{RSS: 2 << 30, Heap: 1 << 30, Held: measure.Held{Goroutines: 10, Descriptors: 1, Buffers: 4, Fences: 1, InUse: 1}}, 7},
	} {
		var f SoakFigures
		if f.compare(before, test.after); len(f.Leaks) != test.leaks {
			t.Errorf("%s: %s", name, strings.Join(f.Leaks, "; "))
		}
	}
}
