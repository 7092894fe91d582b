package fleet_test

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
)

// The lease of another process ends, whatever time its object asks for.
func TestLeaseTimeOfAnObjectIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ of, own, want time.Duration }{
		{1<<63 - 1, time.Second, time.Hour},
		{-1 << 63, time.Second, time.Second},
		{time.Minute, time.Second, time.Minute},
		{time.Minute, 2 * time.Hour, 2 * time.Hour},
	} {
		if got := fleet.LeaseWait(c.of, c.own); got != c.want {
			t.Errorf("an object with %v, own %v: waits %v, not %v", c.of, c.own, got, c.want)
		}
	}
}

// A process whose lease another one has taken over leaves it to that.
func TestLeaseThatWasTakenOver(t *testing.T) {
	t.Parallel()
	m, url := newMemory(t)
	r := open(t, openDir(t), writer(url))
	if report := r.Start(t.Context(), mesaDriver); report.Outcome != fleet.Leased {
		t.Fatalf("start: %+v", report)
	}
	name := fleet.LeaseName(mesaDriver.Digest())
	m.mu.Lock()
	m.objects[name] = memoryObject{data: []byte(`{"holder":"another"}`), tag: "another"}
	m.mu.Unlock()
	must(t, r.Close())
	if got := string(m.copyObjects()[name]); got != `{"holder":"another"}` {
		t.Errorf("the lease is %q", got)
	}
}
