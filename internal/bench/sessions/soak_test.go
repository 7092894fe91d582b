package sessions

import (
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/bench"
	"github.com/shadercache/shadercache/internal/cli"
)

// A soak whose heartbeat stops stalls; one that was too short for heartbeats does not.
func TestStallsFail(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		median, most, soak time.Duration
		want               string
	}{
		{10 * ms, 100 * ms, time.Minute, noStall},
		{10 * ms, 101 * ms, time.Minute, stalls},
		{10 * ms, 101 * ms, time.Second, stalls},
		{0, 0, time.Minute, stalls},
		{0, 0, time.Second, tooShort},
	} {
		if got := stallWord(c.median, c.most, c.soak); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	r := Result{Verified: true, Rows: []Row{
		{Workload: "soak", Strategy: "mega", Verified: true, BoundBy: noStall},
		{Workload: "soak", Strategy: "chain", Verified: true, BoundBy: tooShort}}}
	if err := r.Verdict(); err != nil {
		t.Error(err)
	}
	r.Rows = append(r.Rows, Row{Workload: "soak", Strategy: "double", Verified: true, BoundBy: stalls, HeartbeatMedian: 5, HeartbeatMax: 63})
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "double: a heartbeat took 63.0 ms, the median 5.0 ms") || cli.HintFor(err) == "" {
		t.Errorf("a stall: %v", err)
	}
	r.Rows = []Row{{Workload: "soak", Strategy: "double", Verified: true, BoundBy: noStall,
		Leaks: bench.Held{Goroutines: 5, Descriptors: 9, Buffers: 4}.Grown(bench.Held{Goroutines: 4, Descriptors: 9, Buffers: 3})}}
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "double: goroutines: 4 before, 5 at the end, buffers: 3 before, 4 at the end") || cli.HintFor(err) == "" {
		t.Errorf("what grew: %v", err)
	}
}
