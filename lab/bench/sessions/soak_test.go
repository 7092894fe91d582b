package sessions

import (
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// fakeSession has issued submissions and beaten as often as a test says.
type fakeSession struct {
	issued uint64
	beat   uint32
}

func (f *fakeSession) Heartbeat() uint32     { return f.beat }
func (f *fakeSession) Stats() resident.Stats { return resident.Stats{Submissions: f.issued} }

// A session stalls that issues submission after submission without a heartbeat, or never has
// one, and not one whose heartbeats come late, as on a busy machine.
func TestStallsAreSubmissionsWithoutAHeartbeat(t *testing.T) {
	for _, c := range []struct {
		soak time.Duration
		look []fakeSession
		want string
	}{
		{time.Minute, []fakeSession{{1, 1}, {2, 2}, {5, 2}, {6, 3}}, noStall}, // three are in flight
		{time.Minute, []fakeSession{{1, 1}, {2, 2}, {7, 2}, {7, 3}}, stalls},
		{time.Second, []fakeSession{{1, 1}, {2, 2}, {7, 2}}, stalls},
		{time.Minute, []fakeSession{{1, 0}, {3, 0}}, stalls}, // none at all
		{time.Second, []fakeSession{{1, 0}, {3, 0}}, tooShort},
	} {
		var b beats
		for i, s := range c.look {
			b.look(&s, time.Unix(0, 0).Add(time.Duration(i)*time.Hour))
		}
		if got := b.stallWord(c.soak); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A row that stalled, or left something behind, fails the result.
func TestStallsFail(t *testing.T) {
	r := Result{Verified: true, Rows: []Row{
		{Workload: "soak", Strategy: "mega", Verified: true, BoundBy: noStall},
		{Workload: "soak", Strategy: "chain", Verified: true, BoundBy: tooShort}}}
	if err := r.Verdict(); err != nil {
		t.Error(err)
	}
	r.Rows = append(r.Rows, Row{Workload: "soak", Strategy: "double", Verified: true, BoundBy: stalls, HeartbeatMedian: 5, HeartbeatMax: 63, Silent: 9})
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "double: 9 submissions without a heartbeat; the longest time without was 63.0 ms, the median 5.0 ms") || cli.HintFor(err) == "" {
		t.Errorf("a stall: %v", err)
	}
	r.Rows = []Row{{Workload: "soak", Strategy: "double", Verified: true, BoundBy: noStall,
		Leaks: measure.Held{Goroutines: 5, Descriptors: 9, Buffers: 4}.Grown(measure.Held{Goroutines: 4, Descriptors: 9, Buffers: 3})}}
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "double: goroutines: 4 before, 5 at the end, buffers: 3 before, 4 at the end") || cli.HintFor(err) == "" {
		t.Errorf("what grew: %v", err)
	}
}
