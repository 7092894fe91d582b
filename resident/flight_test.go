//go:build linux

package resident

import (
	"context"
	"testing"
	"time"
)

// TestAStopEndsATickInFlight has a tick that would take very long be ended by the
// host, which only a driver that shows it to the kernel allows: no other one begins.
func TestAStopEndsATickInFlight(t *testing.T) {
	f := newFixture(t)
	caps, err := Probe(t.Context(), f.context, f.cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !caps.HostWritesSeen {
		t.Skip("the probe says that a kernel does not see what the host writes during its dispatch")
	}
	s := f.session(chainKernel(), Options{Strategy: Persistent, Slice: time.Hour, Capabilities: caps})
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	getsOn(t, ctx, s)
	ticks := s.Stats().Ticks
	out, err := s.Stop(ctx)
	if err != nil || out.Steps == 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if n := s.Stats(); n.Ticks-n.Alignments > ticks+1 {
		t.Errorf("%d ticks before the stop, %d in all, %d of them to align", ticks, n.Ticks, n.Alignments)
	}
	got := words(t, s, "Cells", chainCells)
	if steps := s.Progress(); steps < 1<<22 {
		wantWords(t, got, chainAfter(steps))
	} else {
		t.Logf("%d steps are too many for the CPU", steps)
	}
}
