package sessions

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/resident"
)

// The fastest row is bound by its work; one of twice the time by its dispatches.
func TestSetBounds(t *testing.T) {
	rows := []Row{
		{Iterations: 1000, PerSecond: 1000, WallMillis: 1000, Dispatches: 10},
		{Iterations: 1000, PerSecond: 500, WallMillis: 2000, Dispatches: 100},
	}
	setBounds(rows)
	if rows[0].BoundBy != "work" || rows[0].GapMicros != 0 {
		t.Errorf("%+v", rows[0])
	}
	if rows[1].BoundBy != "100 dispatches x 10000.0 us" || rows[1].GapMicros != 10_000 {
		t.Errorf("%+v", rows[1])
	}
}

// A row that did not run as requested has its reason printed, once.
func TestPrintHasReasons(t *testing.T) {
	row := Row{Workload: "live", Strategy: "persistent", Got: "redispatch", Why: "no flight", Verified: true}
	r := Result{Capabilities: resident.Capabilities{Residency: 1, ResidencyGroup: 256, LoopLimit: 65_535}, Rows: []Row{row, row, {Workload: "soak", Verified: true}}, Verified: true}
	var b strings.Builder
	r.Print(&b)
	if text := b.String(); strings.Count(text, "redispatch instead of persistent: no flight") != 1 || !strings.Contains(text, "loops end after 65535 rounds") || !strings.Contains(text, "\nsoak\tran as") {
		t.Errorf("got %s", text)
	}
	if r.Verified = false; r.Verdict() == nil {
		t.Error("a wrong row is no failure")
	}
}
